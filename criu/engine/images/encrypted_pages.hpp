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

/// Pages of a dump that is encrypted at a page server, which encrypts them as well (memory::PageCommand::Encrypt). The
/// sender makes the key, so that a restore sees which pages belong to which dump; the server wraps it for the
/// recipients, so that they can read pages of earlier dumps, beside which nothing of these dumps lies.
namespace criu::engine {

struct Run;

/// What the sender sends (sendKeys()): the key, for whom it is, and the key of the pages that the dump builds on (null:
/// it builds on none, or on what no page server has).
[[nodiscard]] std::shared_ptr<crypto::SecretBytes> keysForServer(const DumpKey& key,
                                                                 std::span<const crypto::PublicKey> recipients,
                                                                 const crypto::SecretBytes* earlierPages);

/// Where the server puts pages.
class EncryptedStore {
public:
    /// Receives what belongs to the message. `place`: the images directory, which has opened its parents; the link to
    /// them goes if the pages don't build on those. What an earlier dump has left there is removed. Throws Error.
    EncryptedStore(Run& run, ImageDir& place, memory::PageConnection& sender, const memory::PageMessage& message);

    /// Whatever is made there is encrypted. If it has a parent, that has what the sender's pages build on.
    [[nodiscard]] const ImageDir& images() const noexcept { return spool_; }

    /// All is there: returns when it is where it belongs. Without it nothing stays. Throws Error.
    void finish();

private:
    std::unique_ptr<EncryptingOutlet> outlet_;
    ImageDir spool_;
};

}  // namespace criu::engine
