// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "criu/base/key_agreement.hpp"
#include "criu/engine/images/image_transfer.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/image_dir.hpp"

namespace criu::engine {

/// Earlier images (--prev-images-dir) that a dump which is to be encrypted builds on.
struct EncryptedParent {
    std::optional<EncryptedId> id;  ///< nothing: it builds on nothing
    SignedParent signedId;
    std::shared_ptr<crypto::SecretBytes> pagesKey;  ///< DumpKey::keepRecordsOfPages(), if a page server has their pages
    std::optional<ImageDir> records;                ///< in clear, in memory: their inventory, and what pages they have
};

/// Which recipients there are, whatever their order.
[[nodiscard]] crypto::Hash hashOf(std::span<const crypto::PublicKey> recipients);

/// Makes the link to earlier images, as --prev-images-dir says, and opens them. Throws Error.
void linkParentImages(Run& run, ImageDir& images);

/// For a dump that isn't encrypted: what it reads of the images it builds on, and which they are. If it is to be
/// signed, they have to be signed with the same key, and what is read of them is copied first: so an id of tracked
/// memory is that of the dump that has it. Throws Error.
[[nodiscard]] SignedParent takePlainParent(Run& run, ImageDir& images);

/// For one that is: earlier images have to be encrypted, for the same recipients, and signed with the same key, if this
/// dump is to be. The key of their records is what `tracking` (null: nobody tracks) has
/// kept. If it has that of others, or none, the
/// dump builds on nothing, with a warning: nobody knows what has been written since then either. Throws Error.
[[nodiscard]] EncryptedParent takeEncryptedParent(Run& run, ImageDir& place, WpTrackerLink* tracking);

/// What `tracking` is to keep of a dump for that: no page can be read with it. The key has bonds.
[[nodiscard]] std::shared_ptr<crypto::SecretBytes> keptKey(const DumpKey& key,
                                                           std::span<const crypto::PublicKey> recipients);

}  // namespace criu::engine
