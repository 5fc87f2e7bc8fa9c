// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// GNU build ids of ELF files, which identify a program or library.
namespace criu::files {

/// Returns the build id of an ELF file, which is the note NT_GNU_BUILD_ID (elf(5)). `head`: first bytes of the file.
/// Returns an empty id if the bytes aren't ELF, or if no such note lies within `head`.
std::vector<std::byte> parseBuildId(std::span<const std::byte> head);

/// Reads the build id of an open file. Returns an empty id if the file has none. Throws Error.
std::vector<std::byte> readBuildId(int fd);

}  // namespace criu::files
