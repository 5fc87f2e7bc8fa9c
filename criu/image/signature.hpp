// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <span>

#include "criu/base/crypto.hpp"

/// Signatures of all images of a directory (Documentation/images.md).
namespace criu {

class ImageDir;

/// Reads all images there, with all cores, and writes signature.img. `checkStop` is called between pieces, from any
/// thread, and throws if the work is to end. Throws Error.
void signImages(const ImageDir& images, crypto::Bytes secret, const std::function<void()>& checkStop);

/// Reads all images there once, with all cores. Throws Error, which names file and offset, unless all are as one of the
/// signers has signed them, and no others are there. `into` gets a copy of what was read (null: nothing does), without
/// the signature: whoever uses that has what was signed, even if somebody changes the images meanwhile.
void requireSigned(const ImageDir& images, std::span<const crypto::PublicKey> signers, const ImageDir* into,
                   const std::function<void()>& checkStop);

}  // namespace criu
