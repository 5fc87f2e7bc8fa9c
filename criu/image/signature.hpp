// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <optional>

#include "criu/image/key_files.hpp"

/// Signatures over all images of a directory (Documentation/images.md).
namespace criu {

class ImageDir;

/// Id of signed images: SHA-256 of the signed bytes.
using SignedId = crypto::Hash;

/// Hashes all images with all cores and writes signature.img. `parent` is the id of the images that these build on.
/// Any thread calls `checkStop` between pieces; it throws to end the work. Throws Error.
void signImages(const ImageDir& images, const Signer& signer, const std::optional<SignedId>& parent,
                const std::function<void()>& checkStop);

/// Part of the parent images to verify.
enum class SignedPart {
    All,
    Records,  ///< records (the inventory and pagemaps), or the head of encrypted images, without pages
};

/// One dump of a chain.
struct SignedLink {
    SignedId id{};
    std::optional<SignedId> parent;  ///< id of the images that it builds on
};

/// Reads the images once, with all cores. Throws Error, which names file and offset, unless one of the signers
/// signed exactly these images. A signer with a certificate must be valid now. `into` gets a copy of the verified
/// data without the signature (null: no copy). A restore from the copy is safe against later changes of the images.
SignedLink requireSigned(const ImageDir& images, const Signers& signers, const ImageDir* into,
                         const std::function<void()>& checkStop, SignedPart part = SignedPart::All);

}  // namespace criu
