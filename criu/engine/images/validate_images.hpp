// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace criu {
class Log;
class ImageDir;
class Refusals;
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

/// Compares the images with their checksums, then reads them by readImages(). Throws Error for damaged images, for a
/// tree that this machine can't run, and for a tree that the client may not restore.
RestoreImages readValidatedImages(ImageDir& images, const memory::PageSources& pages, const Run& run);

/// Makes the birth plan. Warns of each process whose kernel parent will be a different thread of the parent process
/// than in the dump. `refusals`: collector for a missing --shell-job.
[[nodiscard]] model::BirthPlan planBirths(const RestoreImages& content, const model::Options& options, Log& log,
                                          Refusals& refusals);

/// Returns the method by which the dump locked TCP connections. Throws Error if the options forbid the restore of
/// connections.
[[nodiscard]] model::NetworkLock lockMethod(const RestoreImages& content, const model::Options& options);

}  // namespace criu::engine
