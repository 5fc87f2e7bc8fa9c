// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "criu/image/image_dir.hpp"

/// Signed or encrypted images with their parent images. All are verified before a restore creates anything.
namespace criu::engine {

struct Run;

/// Verifies the signatures of images and their parent images. Returns a copy of all in memory; nothing if no signature
/// is required. Throws Error.
[[nodiscard]] std::optional<ImageDir> copyOfSigned(Run& run, ImageDir& images);

/// Decrypts images and their parent images into memory. Returns nothing if they aren't encrypted. Erases the user's
/// secret keys, so that no child process gets a copy of them. Throws Error.
[[nodiscard]] std::optional<ImageDir> decrypted(Run& run, ImageDir& images);

/// Verifies signature and encryption of the images with the given keys. Returns a line for each result; none if the
/// images are neither signed nor encrypted. Throws Error, also for a missing key.
[[nodiscard]] std::vector<std::string> verifySecrecy(Run& run, ImageDir& images);

}  // namespace criu::engine
