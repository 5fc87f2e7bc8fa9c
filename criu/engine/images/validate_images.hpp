// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace criu {
class Log;
class ImageDir;
}  // namespace criu

namespace criu::memory {
class PageSources;
}

namespace criu::model {
class BirthPlan;
enum class NetworkLock : std::uint8_t;
struct Options;
}  // namespace criu::model

namespace criu::engine {

struct RestoreImages;
struct Run;

/// Compares images with their checksums, then reads them like readImages(). Throws Error also for a tree that this
/// machine can't run or the client may not restore, so that such trees aren't planned.
RestoreImages readValidatedImages(ImageDir& images, const memory::PageSources& pages, const Run& run);

/// Makes the birth plan. Warns of processes whose parent thread changes.
[[nodiscard]] model::BirthPlan planBirths(const RestoreImages& content, const model::Options& options, Log& log);

/// Returns the method that the dump locked connections with. Throws Error if these options can't restore them.
[[nodiscard]] model::NetworkLock lockMethod(const RestoreImages& content, const model::Options& options);

}  // namespace criu::engine
