// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <span>

#include "criu/base/crypto/key_agreement.hpp"
#include "criu/image/encrypting_outlet.hpp"
#include "criu/image/image_dir.hpp"

namespace criu::memory {
class PageConnection;
struct PageMessage;
}  // namespace criu::memory

/// Encryption of pages at a page server, for an encrypted dump (memory::PageCommand::Encrypt). The sender makes the
/// key: a restore, which knows the sender's key, can then check that the pages belong to the dump. The server encrypts
/// the key for the recipients and stores it beside the pages.
namespace criu::engine {

struct Run;

/// Returns the content of the message that the sender sends by sendKeys(): pages key, hash of recipients, and key of
/// the parent pages. `earlierPages`: key of the parent pages; null if no page server has parent pages.
[[nodiscard]] std::shared_ptr<crypto::SecretBytes> keysForServer(const DumpKey& key,
                                                                 std::span<const crypto::PublicKey> recipients,
                                                                 const crypto::SecretBytes* earlierPages);

/// Encrypted pages of one sender in the images directory of a page server.
class EncryptedStore {
public:
    /// Receives the keys that follow `message`. Removes images of an earlier dump. Removes the parent link if the
    /// sender's pages don't build on the parent images. Throws Error. `place`: images directory with opened parent
    /// images.
    EncryptedStore(Run& run, ImageDir& place, memory::PageConnection& sender, const memory::PageMessage& message);

    /// Returns the spool to which the page server writes the sender's pages. If the pages build on parent images, the
    /// spool has these as its parent images.
    [[nodiscard]] const ImageDir& images() const noexcept { return spool_; }

    /// Encrypts the images and writes them to the images directory. Without this call, the directory gets no images.
    /// Throws Error.
    void finish();

private:
    std::unique_ptr<EncryptingOutlet> outlet_;
    ImageDir spool_;
};

}  // namespace criu::engine
