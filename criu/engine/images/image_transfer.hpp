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
    /// Writes all images to the disk by syncImages() if Options::sync is set. `byDefault`: true if an unset
    /// Options::sync means the same for images on a disk. Throws Error.
    void sync(Run& run, bool byDefault) const;
    /// Removes the inventory after a failed dump, so that no restore takes the images for complete ones. Throws Error.
    void revoke(const Run& run);

    /// Moves to the caller the key with which the next dump reads these encrypted images (keptKey()).
    [[nodiscard]] std::shared_ptr<crypto::SecretBytes> takeKey() noexcept;

    /// Images directory, if `images` is a spool; null if `images` is the images directory itself.
    std::unique_ptr<ImageDir> place;
    std::unique_ptr<ImageOutlet> outlet;  ///< destination of the images; null if they stay in `images`
    ImageDir images;
    std::shared_ptr<crypto::SecretBytes> serverKeys;  ///< keys for a page server that encrypts pages (sendKeys())

private:
    SignedParent signedParent_;
    std::shared_ptr<crypto::SecretBytes> key_;

    [[nodiscard]] const ImageDir& directory() const noexcept { return place ? *place : images; }

    bool reachable_;  ///< true if the path of the images directory led to this directory at the start of the dump
};

/// Opens the images of a dump or pre-dump. The images are in the images directory, or have an outlet that the options
/// name (--stream, --stream-to, --encrypt). Throws Error. `tracking`: WP tracker daemon, which has the key of encrypted
/// parent images; may be null.
[[nodiscard]] OutgoingImages openOutgoing(Run& run, WpTrackerLink* tracking = nullptr);

/// Images that a restore reads, and the supply from which they come.
struct IncomingImages {
    IncomingImages(ImageDir found, std::unique_ptr<StreamerSupply> from, std::optional<ImageDir> place);
    ~IncomingImages();
    IncomingImages(const IncomingImages&) = delete;
    IncomingImages& operator=(const IncomingImages&) = delete;

    /// Moves all descriptors of the images to other numbers. `mover`: moves one descriptor.
    void move(const std::function<UniqueFd(UniqueFd)>& mover);
    /// Closes the connection to the image streamer, and empties spools. With lazy pages, criu may run as long as the
    /// restored processes, and full spools would occupy memory all this time.
    void dismiss() noexcept;
    /// Returns the descriptor of the images directory that the user named.
    [[nodiscard]] int placeFd() const noexcept { return place ? place->fd() : images.fd(); }

    /// Images directory, if `images` is a spool; empty if `images` is the images directory itself.
    std::optional<ImageDir> place;
    std::unique_ptr<StreamerSupply> supply;  ///< supply of images that haven't arrived; null if all have arrived
    ImageDir images;
};

/// Opens the images of a restore. Receives the stream of --stream-from, verifies signatures, and decrypts encrypted
/// images. Throws Error.
[[nodiscard]] IncomingImages openIncoming(Run& run);

/// Returns true if a restore frees pages in images after it has read them: with --auto-dedup, or if the images are in a
/// spool, because only this restore reads a spool.
[[nodiscard]] bool freesWhatIsRead(const model::Options& options) noexcept;

}  // namespace criu::engine
