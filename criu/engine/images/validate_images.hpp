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

/// As readImages(), after files that have checksums were compared with them. Throws Error also for a tree that this
/// machine can't run, or that the client couldn't bring to life: what can't be restored isn't planned.
RestoreImages readValidatedImages(ImageDir& images, const memory::PageSources& pages, const Run& run);

/// Who creates whom. Warns of processes that become children of another thread than they were of.
[[nodiscard]] model::BirthPlan planBirths(const RestoreImages& content, const model::Options& options, Log& log);

/// How the dump has locked connections. Throws Error if they can't be restored with these options.
[[nodiscard]] model::NetworkLock lockMethod(const RestoreImages& content, const model::Options& options);

}  // namespace criu::engine
