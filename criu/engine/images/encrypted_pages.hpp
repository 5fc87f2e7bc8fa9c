// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <span>

#include "criu/base/key_agreement.hpp"
#include "criu/image/encrypting_outlet.hpp"
#include "criu/image/image_dir.hpp"

namespace criu::memory {
class PageConnection;
struct PageMessage;
}  // namespace criu::memory

/// Encryption of pages at a page server, for a dump that is encrypted itself (memory::PageCommand::Encrypt). The sender
/// makes the key, so that a restore can check that pages belong to the dump. The server wraps the key for the
/// recipients: parent pages at the server have no other images beside them that hold it.
namespace criu::engine {

struct Run;

/// Returns the bytes of the sender's message (sendKeys()): pages key, hash of recipients, and key of the parent pages.
/// `earlierPages` is null if there are no parent pages at a page server.
[[nodiscard]] std::shared_ptr<crypto::SecretBytes> keysForServer(const DumpKey& key,
                                                                 std::span<const crypto::PublicKey> recipients,
                                                                 const crypto::SecretBytes* earlierPages);

/// Encrypted pages in the directory of a page server.
class EncryptedStore {
public:
    /// Receives the keys that follow `message`. `place` is the images directory with its parents opened. Removes the
    /// parent link if the pages don't build on those parents. Removes images of an earlier dump. Throws Error.
    EncryptedStore(Run& run, ImageDir& place, memory::PageConnection& sender, const memory::PageMessage& message);

    /// Images to write; they are encrypted. Their parent, if any, has the pages that the sender's pages build on.
    [[nodiscard]] const ImageDir& images() const noexcept { return spool_; }

    /// Writes the encrypted images to the directory and returns when they are complete. Without this call nothing
    /// remains. Throws Error.
    void finish();

private:
    std::unique_ptr<EncryptingOutlet> outlet_;
    ImageDir spool_;
};

}  // namespace criu::engine
