// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "criu/image/image_dir.hpp"
#include "criu/image/record.hpp"

/// Functions for files of drivers in an images directory, in the layout of CRIU 4.2's plugins. Such a file has an
/// 8-byte length in native byte order and then a message. It has no magic number.
namespace criu::device {

/// Offset of the message, or of raw content, in the file.
inline constexpr std::uint64_t kDriverImageStart = sizeof(std::uint64_t);

void writeDriverImage(const ImageDir& images, const std::string& name, const ProtobufCMessage& message);

/// Returns the bytes of the message; nullopt if the file doesn't exist. Throws Error.
std::optional<std::vector<std::byte>> readDriverImageBytes(const ImageDir& images, const std::string& name);

template <Message T>
std::optional<Record<T>> readDriverImage(const ImageDir& images, const std::string& name) {
    const auto bytes = readDriverImageBytes(images, name);
    if (!bytes)
        return std::nullopt;
    const ErrorContext context([&] { return name; });
    return decode<T>(*bytes);
}

}  // namespace criu::device
