// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <optional>

#include "criu/image/key_files.hpp"

/// Signatures that cover all images of a directory (Documentation/images.md).
namespace criu {

class ImageDir;

/// Id of signed images: SHA-256 of the signed bytes.
using SignedId = crypto::Hash;

/// Hashes all images by threads on all processors, signs the hashes, and writes signature.img. `parent`: id of the
/// parent images, if there are any. Any thread may call `checkStop` between pieces; `checkStop` throws to stop the
/// work. Throws Error.
void signImages(const ImageDir& images, const Signer& signer, const std::optional<SignedId>& parent,
                const std::function<void()>& checkStop);

/// Images that requireSigned() reads and verifies.
enum class SignedPart {
    All,
    Records,  ///< only records (the inventory and pagemaps), and encryption.img
};

/// Ids by which signed images of a chain of dumps refer to their parents.
struct SignedLink {
    SignedId id{};
    std::optional<SignedId> parent;  ///< id of the parent images; unset if there are none
};

/// Reads the images once, by threads on all processors. Throws Error if none of `signers` has signed exactly these
/// images; the error names file and offset. A signer's certificate must be valid now. `into`: directory that gets a
/// copy of the verified images without the signature; null for no copy. A restore reads the copy, because other
/// programs may change the images after the verification.
SignedLink requireSigned(const ImageDir& images, const Signers& signers, const ImageDir* into,
                         const std::function<void()>& checkStop, SignedPart part = SignedPart::All);

}  // namespace criu
