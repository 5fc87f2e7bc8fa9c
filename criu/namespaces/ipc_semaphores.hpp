// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

#include "criu/image/image_dir.hpp"
#include "images/ipc-desc.hpp"

/// System V semaphore sets (semget(2)) of the calling thread's IPC namespace.
namespace criu::namespaces {

struct SemaphoreSet {
    IpcDescEntry desc;
    std::vector<std::uint16_t> values;
};

/// Throws Error.
[[nodiscard]] std::vector<SemaphoreSet> readSemaphoreSets();

void writeSemaphoreSets(ImageWriter& image, const std::vector<SemaphoreSet>& sets);

/// Reads and checks an image.
[[nodiscard]] std::vector<SemaphoreSet> parseSemaphoreSets(ImageReader& image);

/// Throws Error.
void makeSemaphoreSet(const SemaphoreSet& set);

}  // namespace criu::namespaces
