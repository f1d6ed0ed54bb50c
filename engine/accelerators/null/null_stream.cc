#include "engine/accelerators/null/null_stream.h"

namespace tondar::null {
namespace {

Status NotYet(const char* call) { return Unimplemented("null: {} is not implemented; this backend is a skeleton", call); }

}  // namespace

Status NullEvent::Synchronize() { return NotYet("Event::Synchronize"); }
Result<bool> NullEvent::Query() { return NotYet("Event::Query"); }

Status NullStream::CopyIn(std::byte*, std::span<const std::byte>) { return NotYet("CopyIn"); }
Status NullStream::CopyOut(std::span<std::byte>, const std::byte*) { return NotYet("CopyOut"); }
Status NullStream::CopyWithin(std::byte*, const std::byte*, size_t) { return NotYet("CopyWithin"); }
Status NullStream::Fill(std::byte*, std::byte, size_t) { return NotYet("Fill"); }
Status NullStream::Launch(const Kernel&, const KernelArguments&, const char*) { return NotYet("Launch"); }
Status NullStream::Record(Event&) { return NotYet("Record"); }
Status NullStream::Wait(Event&) { return NotYet("Wait"); }
Status NullStream::Synchronize() { return NotYet("Synchronize"); }

}  // namespace tondar::null
