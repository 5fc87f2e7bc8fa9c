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

/// Parent images (--prev-images-dir) of an encrypted dump.
struct EncryptedParent {
    std::optional<EncryptedId> id;  ///< empty if there are no parent images
    SignedParent signedId;
    /// key of records of the parent pages (DumpKey::keepRecordsOfPages()), if a page server has the pages
    std::shared_ptr<crypto::SecretBytes> pagesKey;
    std::optional<ImageDir> records;  ///< decrypted records in memory: inventory and pagemaps
};

/// Returns a hash of the set of recipients. Their order doesn't matter.
[[nodiscard]] crypto::Hash hashOf(std::span<const crypto::PublicKey> recipients);

/// Makes the parent link of --prev-images-dir and opens the parent images. Throws Error.
void linkParentImages(Run& run, ImageDir& images);

/// Opens the parent images of a dump that isn't encrypted, and returns their id. For a signed dump, the parent images
/// must be signed with the same key. Their records are copied to a spool before the dump reads them, so that it only
/// uses verified content. Throws Error.
[[nodiscard]] SignedParent takePlainParent(Run& run, ImageDir& images);

/// Opens the parent images of an encrypted dump. They must be encrypted for the same recipients. For a signed dump,
/// they must also be signed with the same key. `tracking` has the key of their records; null if no memory is tracked.
/// Without the right key the dump builds on no parent, with a warning: then writes since those images weren't tracked
/// either. Throws Error.
[[nodiscard]] EncryptedParent takeEncryptedParent(Run& run, ImageDir& place, WpTrackerLink* tracking);

/// Returns the key that `tracking` keeps of a dump for the next one. It decrypts no pages. `key` must have encryption
/// links.
[[nodiscard]] std::shared_ptr<crypto::SecretBytes> keptKey(const DumpKey& key,
                                                           std::span<const crypto::PublicKey> recipients);

}  // namespace criu::engine
