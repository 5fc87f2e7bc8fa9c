// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "criu/image/image_dir.hpp"
#include "criu/image/record.hpp"

/// Files of drivers in an images directory: an 8-byte length (of the machine's byte order), then a message, without
/// magic numbers. That is the layout of CRIU 4.2's plugins.
namespace criu::device {

/// Where the message, or raw content, begins.
inline constexpr std::uint64_t kDriverImageStart = sizeof(std::uint64_t);

void writeDriverImage(const ImageDir& images, const std::string& name, const ProtobufCMessage& message);

/// The bytes of the message; nothing if there is no such file.
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
