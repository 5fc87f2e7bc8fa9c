// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "criu/image/image_dir.hpp"

/// Images that are signed or encrypted, with all that they build on: verified as a whole before anything is made.
namespace criu::engine {

struct Run;

/// A copy in memory of images that somebody has signed whom the user trusts, and of those that they build on; nothing
/// if no signature is asked for. Throws Error.
[[nodiscard]] std::optional<ImageDir> copyOfSigned(Run& run, ImageDir& images);

/// What encrypted images, and those that they build on, are in clear, in memory; nothing if they aren't encrypted. The
/// user's secret keys are gone then, before any process is made that would have a copy of them. Throws Error.
[[nodiscard]] std::optional<ImageDir> decrypted(Run& run, ImageDir& images);

/// Verifies signature and encryption of what is in the images directory, as far as keys are given, and says what was
/// found, a line each; none if the images have neither. Throws Error, also where a key is missing.
[[nodiscard]] std::vector<std::string> verifySecrecy(Run& run, ImageDir& images);

}  // namespace criu::engine
