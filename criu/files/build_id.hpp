// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// The GNU build id of ELF files: tells whether a program or library is still the same.
namespace criu::files {

/// Finds NT_GNU_BUILD_ID in the notes of an ELF image's beginning (elf(5)). Empty if there is none, the notes lie
/// beyond `head`, or the bytes aren't ELF. Never reads out of `head`.
std::vector<std::byte> parseBuildId(std::span<const std::byte> head);

/// Same for an open file (needs read permission); empty also if it can't be read.
std::vector<std::byte> readBuildId(int fd);

}  // namespace criu::files
