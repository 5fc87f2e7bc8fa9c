// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "criu/image/image_dir.hpp"

/// Verifies and decrypts signed or encrypted images, before a restore creates anything.
namespace criu::engine {

struct Run;

/// Verifies the signatures of images and their parent images, and returns copies of the images in spools. Returns
/// nothing if the user requires no signature. Throws Error.
[[nodiscard]] std::optional<ImageDir> copyOfSigned(Run& run, ImageDir& images);

/// Decrypts images and their parent images into spools. Returns nothing if they aren't encrypted. Erases the user's
/// secret keys, so that no child process gets a copy of them. Throws Error.
[[nodiscard]] std::optional<ImageDir> decrypted(Run& run, ImageDir& images);

/// Verifies signature and encryption of images and their parent images with the user's keys. Returns one line of text
/// for each directory; no line for images without signature and encryption. Throws Error, also for a missing key.
[[nodiscard]] std::vector<std::string> verifySecrecy(Run& run, ImageDir& images);

}  // namespace criu::engine
