// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::memory {

/// Extension name in the inventory for content that is spread over several pages files (PageStripes).
inline constexpr const char* kStripedPages = "striped-pages";
/// Extension name in the inventory for contents of tmpfs files that pages images contain (MemoryObject::Kind::Files).
inline constexpr const char* kFilesPages = "tmpfs-files";
/// Extension name in the inventory for contents of device buffers in pages images (MemoryObject::Kind::Device).
inline constexpr const char* kDevicePages = "device-pages";

/// Extension name in the inventory for compressed content.
inline constexpr const char* kCompressedPages = "compressed-pages";

}  // namespace criu::memory
