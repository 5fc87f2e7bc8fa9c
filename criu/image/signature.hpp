// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <optional>

#include "criu/image/key_files.hpp"

/// Signatures of all images of a directory (Documentation/images.md).
namespace criu {

class ImageDir;

/// Names what was signed: SHA-256 of that.
using SignedId = crypto::Hash;

/// Reads all images there, with all cores, and writes signature.img. `parent`: of the dump that these build on.
/// `checkStop` is called between pieces, from any thread, and throws if the work is to end. Throws Error.
void signImages(const ImageDir& images, const Signer& signer, const std::optional<SignedId>& parent,
                const std::function<void()>& checkStop);

/// What is looked at of images that a dump builds on.
enum class SignedPart {
    All,
    Records,  ///< what the next dump reads: the inventory and what pages there are, but not the pages; of encrypted
              ///< images what their key is proved by
};

/// One dump of a chain.
struct SignedLink {
    SignedId id{};
    std::optional<SignedId> parent;  ///< of the dump that it builds on
};

/// Reads the images there once, with all cores. Throws Error, which names file and offset, unless all are as one of the
/// signers has signed them, and no others are there; a signer that an authority says to be one has to be one now.
/// `into` gets a copy of what was read (null: nothing does), without the signature: whoever uses that has what was
/// signed, even if somebody changes the images meanwhile.
SignedLink requireSigned(const ImageDir& images, const Signers& signers, const ImageDir* into,
                         const std::function<void()>& checkStop, SignedPart part = SignedPart::All);

}  // namespace criu
