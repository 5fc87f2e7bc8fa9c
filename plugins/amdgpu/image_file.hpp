// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/device/driver_image.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/record.hpp"

/// Files of this driver in an images directory. A file begins with an 8-byte length in native byte order. Then it has a
/// message or raw content, and no magic number. CRIU 4.2's plugin uses the same names and layout.
namespace criu::amdgpu {

inline constexpr std::uint64_t kContentStart = device::kDriverImageStart;

std::string kfdImageName(FileId id);
std::string renderImageName(FileId id);
std::string dmabufImageName(FileId id);
/// Returns the name of the file with all buffers of a process on one GPU.
std::string pagesImageName(FileId id, std::uint32_t userGpuId);
/// Returns the name of the file with one buffer of a render node.
std::string renderPagesImageName(FileId id, std::uint32_t minor, std::size_t index);

inline void writeImage(const ImageDir& images, const std::string& name, const ProtobufCMessage& message) {
    device::writeDriverImage(images, name, message);
}

/// Reads a message; returns nullopt if the file doesn't exist.
template <Message T>
std::optional<Record<T>> readMessage(const ImageDir& images, const std::string& name) {
    return device::readDriverImage<T>(images, name);
}

/// Creates a file for `size` bytes of content. The caller writes the content from offset kContentStart on.
UniqueFd createContent(const ImageDir& images, const std::string& name, std::uint64_t size);
/// Opens a file and checks that it has at least `size` bytes of content.
UniqueFd openContent(const ImageDir& images, const std::string& name, std::uint64_t size);

}  // namespace criu::amdgpu
