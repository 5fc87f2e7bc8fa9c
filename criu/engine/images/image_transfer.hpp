// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "criu/image/image_dir.hpp"

namespace criu {
class ImageOutlet;
class StreamerSupply;
}  // namespace criu

namespace criu::crypto {
class SecretBytes;
}

namespace criu::model {
struct Options;
}

namespace criu::engine {

class WpTrackerLink;
struct Run;

/// SignedId of what a dump builds on (image/signature.hpp); nothing if it isn't to be signed, or builds on nothing.
using SignedParent = std::optional<std::array<std::byte, 32>>;

/// Images of a dump: where they are made, and where they go.
struct OutgoingImages {
    OutgoingImages(ImageDir made, std::unique_ptr<ImageOutlet> to, std::unique_ptr<ImageDir> place,
                   SignedParent signedParent = std::nullopt, std::shared_ptr<crypto::SecretBytes> key = nullptr,
                   std::shared_ptr<crypto::SecretBytes> forServer = nullptr);
    ~OutgoingImages();
    OutgoingImages(const OutgoingImages&) = delete;
    OutgoingImages& operator=(const OutgoingImages&) = delete;

    /// All images are made: returns when they are where they go to, and signed, if they are to be. Throws Error, also
    /// where nobody would find them, since the images directory was unmounted or removed meanwhile.
    void complete(Run& run);
    /// The dump has failed: what there is is no checkpoint. Throws Error.
    void revoke(const Run& run);

    /// What the next dump needs to build on these, if they are encrypted (keptKey()). To be taken once.
    [[nodiscard]] std::shared_ptr<crypto::SecretBytes> takeKey() noexcept;

    std::unique_ptr<ImageDir> place;      ///< the images directory, if images are made elsewhere
    std::unique_ptr<ImageOutlet> outlet;  ///< null: they stay where they are made
    ImageDir images;
    std::shared_ptr<crypto::SecretBytes>
        serverKeys;  ///< for a page server, which is to encrypt pages, too (sendKeys())

private:
    SignedParent signedParent_;
    std::shared_ptr<crypto::SecretBytes> key_;

    [[nodiscard]] const ImageDir& directory() const noexcept { return place ? *place : images; }

    bool reachable_;  ///< the images directory had a path that leads to it
};

/// Of a dump or pre-dump, as its options say (--stream, --stream-to, or just the images directory with its parents).
/// `tracking`: who keeps the key of earlier images that are encrypted; may be null. Throws Error.
[[nodiscard]] OutgoingImages openOutgoing(Run& run, WpTrackerLink* tracking = nullptr);

/// Images of a restore: where they come from, and where they are found.
struct IncomingImages {
    IncomingImages(ImageDir found, std::unique_ptr<StreamerSupply> from, std::optional<ImageDir> place);
    ~IncomingImages();
    IncomingImages(const IncomingImages&) = delete;
    IncomingImages& operator=(const IncomingImages&) = delete;

    /// Moves all descriptors that images are found by.
    void move(const std::function<UniqueFd(UniqueFd)>& mover);
    /// No more images are wanted: the other side of --stream may end, and what is here in memory goes. With pages that
    /// come later that is most of it, and criu may stay as long as the restored processes do.
    void dismiss() noexcept;
    /// What users know as the images directory.
    [[nodiscard]] int placeFd() const noexcept { return place ? place->fd() : images.fd(); }

    std::optional<ImageDir> place;           ///< the images directory, if they aren't there
    std::unique_ptr<StreamerSupply> supply;  ///< null: all are there
    ImageDir images;
};

/// Of a restore. With --stream-from it returns when the stream has come to its end; encrypted images are decrypted, and
/// signatures verified, all of them. Throws Error.
[[nodiscard]] IncomingImages openIncoming(Run& run);

/// Whether a restore frees content of memory in images as soon as it has read it (--auto-dedup). What a stream has
/// brought, or what was decrypted, is there for this restore only, and in memory.
[[nodiscard]] bool freesWhatIsRead(const model::Options& options) noexcept;

}  // namespace criu::engine
