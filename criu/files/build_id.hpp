// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// GNU build ids of ELF files, which identify a program or library.
namespace criu::files {

/// Finds NT_GNU_BUILD_ID in the notes at the start of an ELF file (elf(5)). Returns an empty id if there is none, if
/// the notes lie beyond `head`, or if the bytes aren't ELF. Never reads beyond `head`.
std::vector<std::byte> parseBuildId(std::span<const std::byte> head);

/// Reads the build id of an open file; empty also if the file can't be read.
std::vector<std::byte> readBuildId(int fd);

}  // namespace criu::files
