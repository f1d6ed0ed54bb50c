#include "server/http/connection.h"

#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <charconv>
#include <cstring>
#include <new>

#include "server/http/status_code.h"

namespace tondar::http {
namespace {

constexpr size_t kBlockSize = 32768;
// Bodies up to the block are parsed where they were read, so their padding must lie in the block.
constexpr size_t kBlockRoom = kBlockSize - kBodyPadding;
constexpr size_t kMaxWriteParts = 64;

using boost::asio::ip::tcp;

void AppendNumber(std::string& out, uint64_t value) {
  char text[24];
  out.append(text, static_cast<size_t>(std::to_chars(text, text + sizeof(text), value).ptr - text));
}

iovec PartOf(const void* bytes, size_t size) { return {const_cast<void*>(bytes), size}; }

}  // namespace

struct Connection::Block {
  alignas(64) char bytes[kBlockSize];
};

Connection::Connection(ConnectionHost& host, tcp::socket socket)
    : host_(host),
      socket_(std::move(socket)),
      block_(std::make_shared_for_overwrite<Block>()),
      cancelled_(std::make_shared<std::atomic<bool>>(false)) {}

Connection::~Connection() = default;

void Connection::Start() {
  deadline_ = host_.Now() + host_.limits().idle;
  Advance();
}

void Connection::Close() {
  if (state_ == State::kClosed) return;
  const bool running = state_ == State::kRunning;
  state_ = State::kClosed;
  if (running) cancelled_->store(true, std::memory_order_relaxed);
  boost::system::error_code ignored;  // the socket is gone either way
  socket_.close(ignored);
  if (!running) BecomeInactive();  // else when its answer comes
  host_.OnClosed(*this);           // may end this object
}

void Connection::CheckDeadline(TimePoint now) {
  if (state_ == State::kRunning || state_ == State::kClosed || now < deadline_) return;
  const bool request_half_read = active_ && state_ != State::kWriting && state_ != State::kLinger;
  if (!request_half_read) return Close();
  Fail(408, "the request did not arrive in time");
  Advance();
}

void Connection::Advance() {
  const auto keep_alive = shared_from_this();  // a step may close
  try {
    bool more = true;
    while (more) {
      switch (state_) {
        case State::kHead: more = StepHead(); break;
        case State::kBody: more = StepBody(); break;
        case State::kChunks: more = StepChunks(); break;
        case State::kWriting: more = StepWrite(); break;
        case State::kLinger: more = ReadMore(); break;
        case State::kRunning:
        case State::kClosed: more = false; break;
      }
    }
  } catch (const std::bad_alloc&) {
    Close();
  }
}

// ---- reading

std::string_view Connection::Unparsed() const { return {block_->bytes + begin_, end_ - begin_}; }

void Connection::BecomeActive() {
  if (active_) return;
  active_ = true;
  head_ = RequestHead();
  request_ = HttpRequest();
  request_.received = host_.Now();
  deadline_ = request_.received + host_.limits().head;
  host_.OnActive();
}

void Connection::BecomeInactive() {
  if (!active_) return;
  active_ = false;
  host_.OnInactive();
}

bool Connection::StepHead() {
  // Empty lines between requests are let pass (RFC 9112, section 2.2).
  while (end_ - begin_ >= 2 && std::memcmp(block_->bytes + begin_, "\r\n", 2) == 0) begin_ += 2;
  if (begin_ == end_) {
    if (peer_done_) {
      Close();
      return false;
    }
    scanned_ = 0;
    MakeRoom();
    return ReadMore();
  }
  BecomeActive();
  if (const char* why = WhyNotHttp(Unparsed())) return Fail(400, why);
  const size_t head_size = FindHeadEnd(Unparsed(), scanned_);
  if (head_size > host_.limits().max_head_size ||
      (head_size == 0 && end_ - begin_ >= host_.limits().max_head_size)) {
    return Fail(431, "the request head is larger than this server accepts");
  }
  if (head_size > 0) return TakeHead(head_size);
  if (peer_done_) {
    Close();
    return false;
  }
  scanned_ = end_ - begin_;
  MakeRoom();
  return ReadMore();
}

bool Connection::TakeHead(size_t head_size) {
  if (const auto error = ParseRequestHead(Unparsed().substr(0, head_size), head_)) {
    return Fail(error->status, error->text);
  }
  if (head_.chunked && begin_ > 0 && !reading_) {
    // Chunks are read into the room behind the head, which is most when the head lies in front. A read that is under
    // way pins the block, but had room to begin with; all of the request may be here, so it is not waited for.
    scanned_ = 0;
    MakeRoom();
    return true;
  }
  begin_ += head_size;
  scanned_ = 0;
  body_start_ = begin_;
  request_.method = head_.method;
  request_.target = head_.target;
  request_.content_encoding = head_.content_encoding;
  request_.accept_encoding = head_.accept_encoding;
  request_.inference_header_length = head_.inference_header_length;
  close_after_ = !head_.keep_alive;
  return StartBody();
}

bool Connection::StartBody() {
  const ConnectionLimits& limits = host_.limits();
  if (head_.content_length > limits.max_body_size) {
    return Fail(413, "the request body is larger than http_max_input_size allows");
  }
  const bool here = !head_.chunked && end_ - begin_ >= head_.content_length;
  if (!here) {
    progress_start_ = host_.Now();
    progress_bytes_ = 0;
    deadline_ = progress_start_ + limits.stall;
    if (head_.expects_continue && !head_.http_1_0 && !SendContinue()) return false;
  }
  if (head_.chunked) {
    body_ = std::make_shared<BodyBuffer>();
    chunks_.emplace(limits.max_body_size);
    state_ = State::kChunks;
    return true;
  }
  if (begin_ + head_.content_length >= kBlockRoom) {  // at equality no room were left to watch for the client's leaving
    try {
      body_ = std::make_shared<BodyBuffer>();
      body_->Reserve(head_.content_length);
    } catch (const std::bad_alloc&) {
      return Fail(413, "no memory for a request body of this size");
    }
  }
  state_ = State::kBody;
  return true;
}

bool Connection::StepBody() {
  const size_t here = end_ - begin_;
  if (!body_) {
    if (here < head_.content_length) return ReadMore();
    request_.body = {reinterpret_cast<const std::byte*>(block_->bytes + begin_), head_.content_length};
    request_.storage = block_;
    begin_ += head_.content_length;
    return Dispatch();
  }
  // What came together with the head is moved; the rest is read to where it belongs.
  const size_t moved = std::min(here, head_.content_length - body_->size());
  body_->Append(std::as_bytes(std::span(block_->bytes + begin_, moved)), head_.content_length);
  begin_ += moved;
  if (!reading_ && begin_ == end_) begin_ = end_ = body_start_;  // room for what comes while the request runs
  if (body_->size() < head_.content_length) return ReadMore();
  request_.body = body_->span();
  request_.storage = std::move(body_);
  return Dispatch();
}

bool Connection::StepChunks() {
  try {
    begin_ += chunks_->Feed(std::as_bytes(std::span(block_->bytes + begin_, end_ - begin_)), *body_);
  } catch (const std::bad_alloc&) {
    return Fail(413, "no memory for a request body of this size");
  }
  if (chunks_->error()) return Fail(chunks_->error()->status, chunks_->error()->text);
  if (!chunks_->done()) {
    if (!reading_) begin_ = end_ = body_start_;  // the head stays: its views are in use
    return ReadMore();
  }
  chunks_.reset();
  request_.body = body_->span();
  request_.storage = std::move(body_);
  return Dispatch();
}

// The answers before it are written, so the socket has room for these few bytes, unless the client is gone.
bool Connection::SendContinue() {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  const ssize_t sent = ::send(socket_.native_handle(), kContinue.data(), kContinue.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(kContinue.size())) return true;
  Close();
  return false;
}

// Moves what is unparsed to the front of the block, or to a new block while a request still holds the old one.
void Connection::MakeRoom() {
  if (reading_) return;
  const size_t size = end_ - begin_;
  if (block_.use_count() > 1) {
    auto fresh = std::make_shared_for_overwrite<Block>();
    std::memcpy(fresh->bytes, block_->bytes + begin_, size);
    block_ = std::move(fresh);
  } else if (begin_ > 0) {
    std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the last other owner letting go
    std::memmove(block_->bytes, block_->bytes + begin_, size);
  }
  begin_ = 0;
  end_ = size;
}

std::span<char> Connection::Room() {
  if (state_ == State::kLinger) return {block_->bytes, kBlockRoom};
  if (state_ == State::kBody && body_) {
    const auto room = body_->room();
    return {reinterpret_cast<char*>(room.data()), room.size()};
  }
  return {block_->bytes + end_, kBlockRoom - end_};
}

// Always returns false: nothing to go on with until OnRead.
bool Connection::ReadMore() {
  if (reading_ || peer_done_) {
    if (!reading_ && state_ != State::kRunning) Close();  // the rest will never come
    return false;
  }
  const std::span<char> room = Room();
  if (room.empty()) return false;  // of a pipelined request, while another runs
  reading_ = true;
  reading_body_ = state_ == State::kBody && body_ != nullptr;
  socket_.async_read_some(boost::asio::buffer(room.data(), room.size()),
                          [self = shared_from_this()](const boost::system::error_code& error, size_t size) {
                            self->OnRead(error, size);
                          });
  return false;
}

void Connection::OnRead(const boost::system::error_code& error, size_t size) {
  reading_ = false;
  if (state_ == State::kClosed) return;
  if (error) {
    peer_done_ = true;
    if (error != boost::asio::error::eof && state_ != State::kRunning) return Close();
    if (state_ == State::kRunning) cancelled_->store(true, std::memory_order_relaxed);
    if (state_ == State::kHead || state_ == State::kLinger || state_ == State::kBody || state_ == State::kChunks) {
      Close();  // in the middle of a request, or between two
    }
    return;
  }
  if (state_ == State::kLinger) {
    ReadMore();
    return;
  }
  if (reading_body_) {
    body_->Grow(size);
  } else {
    end_ += size;
  }
  if (state_ == State::kBody || state_ == State::kChunks) {
    progress_bytes_ += size;
    deadline_ = progress_start_ + host_.limits().stall +
                std::chrono::milliseconds(progress_bytes_ * 1000 / host_.limits().min_rate);
  }
  if (state_ == State::kRunning) ReadMore();  // goes on watching for the client to leave
  if (state_ != State::kRunning && state_ != State::kWriting) Advance();
}

// ---- answering

bool Connection::Dispatch() {
  state_ = State::kRunning;
  self_ = shared_from_this();
  in_dispatch_ = true;
  answered_ = false;
  host_.Handle(request_, *this);
  in_dispatch_ = false;
  if (answered_) {
    self_.reset();  // Advance holds another
    BuildAnswer();
    return true;
  }
  return ReadMore();
}

void Connection::Respond(HttpResponse response) {
  response_ = std::move(response);
  Answered();
}

void Connection::Respond(std::unique_ptr<DeferredResponse> response) {
  deferred_ = std::move(response);
  Answered();
}

// in_dispatch_ belongs to the loop's thread, so the thread is asked first.
void Connection::Answered() {
  if (host_.OnLoopThread() && in_dispatch_) {
    answered_ = true;
    return;
  }
  boost::asio::post(socket_.get_executor(), [this] { AnsweredOnLoop(); });  // self_ holds this object
}

void Connection::AnsweredOnLoop() {
  const auto self = std::move(self_);
  if (state_ == State::kClosed) {
    deferred_.reset();
    response_ = HttpResponse();
    BecomeInactive();
    return;
  }
  BuildAnswer();
  Advance();
}

bool Connection::Fail(int status, std::string_view text) {
  response_ = ErrorResponse(status, text);
  close_after_ = true;
  linger_after_ = true;
  chunks_.reset();
  if (!reading_body_ || !reading_) body_.reset();
  BuildAnswer();
  return true;
}

void Connection::BuildAnswer() {
  MakeDeferred();
  close_after_ = close_after_ || host_.draining() || peer_done_;
  size_t body_size = response_.text.size();
  for (const ByteBuffer& tensor : response_.tensors) body_size += tensor.size();
  AppendHead(body_size);

  progress_bytes_ = 0;
  progress_start_ = TimePoint();
  parts_.clear();
  part_ = 0;
  parts_.push_back(PartOf(head_text_.data(), head_text_.size()));
  if (request_.method != kHead) {
    if (!response_.text.empty()) parts_.push_back(PartOf(response_.text.data(), response_.text.size()));
    for (const ByteBuffer& tensor : response_.tensors) {
      if (tensor.size() > 0) parts_.push_back(PartOf(tensor.data(), tensor.size()));
    }
  }
  state_ = State::kWriting;
}

void Connection::MakeDeferred() {
  if (!deferred_) return;
  try {
    response_ = deferred_->Make();
  } catch (const std::bad_alloc&) {
    response_ = ErrorResponse(503, "out of memory while encoding the answer");
  }
  deferred_.reset();
}

void Connection::AppendHead(size_t body_size) {
  std::string& out = head_text_;
  out = "HTTP/1.1 ";
  AppendNumber(out, static_cast<uint64_t>(response_.status));
  out += ' ';
  out += ReasonPhrase(response_.status);
  out += "\r\nContent-Type: ";
  out += response_.content_type;
  out += "\r\nContent-Length: ";
  AppendNumber(out, body_size);
  out += "\r\n";
  if (response_.inference_header_length) {
    out += "Inference-Header-Content-Length: ";
    AppendNumber(out, *response_.inference_header_length);
    out += "\r\n";
  }
  if (!response_.content_encoding.empty()) {
    out += "Content-Encoding: ";
    out += response_.content_encoding;
    out += "\r\n";
  }
  out += response_.extra_headers;
  if (close_after_) {
    out += "Connection: close\r\n";
  } else if (head_.http_1_0) {
    out += "Connection: keep-alive\r\n";
  }
  out += host_.date_line();
  out += "\r\n";
}

bool Connection::StepWrite() {
  while (part_ < parts_.size()) {
    msghdr message{};
    message.msg_iov = parts_.data() + part_;
    message.msg_iovlen = std::min(parts_.size() - part_, kMaxWriteParts);
    ssize_t sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (progress_start_ == TimePoint()) progress_start_ = host_.Now();
      deadline_ = progress_start_ + host_.limits().stall +
                  std::chrono::milliseconds(progress_bytes_ * 1000 / host_.limits().min_rate);
      socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const boost::system::error_code& error) {
        if (!error && self->state_ == State::kWriting) self->Advance();
      });
      return false;
    }
    if (sent < 0) {
      Close();
      return false;
    }
    progress_bytes_ += static_cast<uint64_t>(sent);
    auto left = static_cast<size_t>(sent);
    while (part_ < parts_.size() && left >= parts_[part_].iov_len) left -= parts_[part_++].iov_len;
    if (left > 0) {
      iovec& part = parts_[part_];
      part = PartOf(static_cast<char*>(part.iov_base) + left, part.iov_len - left);
    }
  }
  return FinishWrite();
}

bool Connection::FinishWrite() {
  response_ = HttpResponse();
  request_.storage.reset();
  if (linger_after_) return StartLinger();
  if (close_after_ || host_.draining()) {
    Close();
    return false;
  }
  BecomeInactive();
  deadline_ = host_.Now() + host_.limits().idle;
  state_ = State::kHead;
  return true;
}

// Closing with input unread makes the kernel send a reset, which can overtake the answer.
bool Connection::StartLinger() {
  boost::system::error_code ignored;  // nothing is left to do about it
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  deadline_ = host_.Now() + host_.limits().linger;
  state_ = State::kLinger;
  begin_ = end_;
  MakeRoom();
  BecomeInactive();
  return true;
}

}  // namespace tondar::http
