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

/// Id of signed parent images (SignedId of image/signature.hpp). Empty if the dump isn't signed or has no parent
/// images.
using SignedParent = std::optional<std::array<std::byte, 32>>;

/// Images that a dump writes, and their outlet.
struct OutgoingImages {
    OutgoingImages(ImageDir made, std::unique_ptr<ImageOutlet> to, std::unique_ptr<ImageDir> place,
                   SignedParent signedParent = std::nullopt, std::shared_ptr<crypto::SecretBytes> key = nullptr,
                   std::shared_ptr<crypto::SecretBytes> forServer = nullptr);
    ~OutgoingImages();
    OutgoingImages(const OutgoingImages&) = delete;
    OutgoingImages& operator=(const OutgoingImages&) = delete;

    /// Sends all images to the outlet, and signs them. Returns when they have arrived. Throws Error, also if the images
    /// directory was unmounted or removed during the dump.
    void complete(Run& run);
    /// Removes the inventory after a failed dump, so that a restore doesn't take the images for complete ones. Throws
    /// Error.
    void revoke(const Run& run);

    /// Moves the key to the caller with which the next dump reads these encrypted images (keptKey()).
    [[nodiscard]] std::shared_ptr<crypto::SecretBytes> takeKey() noexcept;

    std::unique_ptr<ImageDir> place;      ///< images directory; null if it is `images`
    std::unique_ptr<ImageOutlet> outlet;  ///< destination of the images; null if they stay in `images`
    ImageDir images;
    std::shared_ptr<crypto::SecretBytes> serverKeys;  ///< keys for a page server that encrypts pages (sendKeys())

private:
    SignedParent signedParent_;
    std::shared_ptr<crypto::SecretBytes> key_;

    [[nodiscard]] const ImageDir& directory() const noexcept { return place ? *place : images; }

    bool reachable_;  ///< true if the path of the images directory led to it at the start
};

/// Opens the images of a dump or pre-dump, in the images directory or with the outlet that the options name (--stream,
/// --stream-to, --encrypt). Throws Error. `tracking`: WP tracker daemon, which has the key of encrypted parent images;
/// may be null.
[[nodiscard]] OutgoingImages openOutgoing(Run& run, WpTrackerLink* tracking = nullptr);

/// Images that a restore reads, and their supply.
struct IncomingImages {
    IncomingImages(ImageDir found, std::unique_ptr<StreamerSupply> from, std::optional<ImageDir> place);
    ~IncomingImages();
    IncomingImages(const IncomingImages&) = delete;
    IncomingImages& operator=(const IncomingImages&) = delete;

    /// Moves all descriptors of the images to other numbers by `mover`.
    void move(const std::function<UniqueFd(UniqueFd)>& mover);
    /// Closes the connection to the image streamer, and empties spools. With lazy pages, criu may run as long as the
    /// restored processes, and full spools would occupy memory for that time.
    void dismiss() noexcept;
    /// Returns the descriptor of the images directory that the user named.
    [[nodiscard]] int placeFd() const noexcept { return place ? place->fd() : images.fd(); }

    std::optional<ImageDir> place;           ///< images directory; empty if it is `images`
    std::unique_ptr<StreamerSupply> supply;  ///< source of images that haven't arrived; null if all have arrived
    ImageDir images;
};

/// Opens the images of a restore. Receives the stream of --stream-from, verifies signatures, and decrypts encrypted
/// images. Throws Error.
[[nodiscard]] IncomingImages openIncoming(Run& run);

/// Returns true if a restore frees pages in images after it has read them: with --auto-dedup, or if the images are in a
/// spool, which only this restore reads.
[[nodiscard]] bool freesWhatIsRead(const model::Options& options) noexcept;

}  // namespace criu::engine
