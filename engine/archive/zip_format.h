// The fixed parts of the zip format (PKWARE APPNOTE 6.3.9), shared by reader and writer.
#ifndef TONDAR_ENGINE_ARCHIVE_ZIP_FORMAT_H_
#define TONDAR_ENGINE_ARCHIVE_ZIP_FORMAT_H_

#include <cstdint>

namespace tondar::zip {

inline constexpr uint32_t kLocalSignature = 0x04034b50;      // "PK\3\4"
inline constexpr uint32_t kCentralSignature = 0x02014b50;    // "PK\1\2"
inline constexpr uint32_t kEndSignature = 0x06054b50;        // "PK\5\6"
inline constexpr uint32_t kEnd64Signature = 0x06064b50;      // "PK\6\6"
inline constexpr uint32_t kLocator64Signature = 0x07064b50;  // "PK\6\7"

inline constexpr uint64_t kLocalBytes = 30;
inline constexpr uint64_t kCentralBytes = 46;
inline constexpr uint64_t kEndBytes = 22;
inline constexpr uint64_t kEnd64Bytes = 56;
inline constexpr uint64_t kLocator64Bytes = 20;

inline constexpr uint16_t kExtraZip64 = 0x0001;
inline constexpr uint16_t kExtraPadding = 0x4246;  // "FB", as PyTorch pads

inline constexpr uint16_t kFlagEncrypted = 0x0001;
inline constexpr uint16_t kFlagDescriptor = 0x0008;
inline constexpr uint16_t kFlagUtf8 = 0x0800;

inline constexpr uint16_t kStored = 0;
inline constexpr uint16_t kDeflated = 8;

inline constexpr uint32_t kSeeZip64 = 0xffffffff;    // the value is in the zip64 extra field
inline constexpr uint16_t kSeeZip64Short = 0xffff;

}  // namespace tondar::zip

#endif  // TONDAR_ENGINE_ARCHIVE_ZIP_FORMAT_H_
