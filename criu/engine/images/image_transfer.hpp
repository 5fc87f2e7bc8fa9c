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

/// SignedId of the parent images (image/signature.hpp); empty if the dump isn't signed or has no parent images.
using SignedParent = std::optional<std::array<std::byte, 32>>;

/// Images of a dump, and their outlet.
struct OutgoingImages {
    OutgoingImages(ImageDir made, std::unique_ptr<ImageOutlet> to, std::unique_ptr<ImageDir> place,
                   SignedParent signedParent = std::nullopt, std::shared_ptr<crypto::SecretBytes> key = nullptr,
                   std::shared_ptr<crypto::SecretBytes> forServer = nullptr);
    ~OutgoingImages();
    OutgoingImages(const OutgoingImages&) = delete;
    OutgoingImages& operator=(const OutgoingImages&) = delete;

    /// Sends all images to the outlet and signs them. Returns when they have arrived. Throws Error, also if the images
    /// directory was unmounted or removed since the dump began.
    void complete(Run& run);
    /// Removes the inventory after a failed dump, so that the images aren't taken for a checkpoint. Throws Error.
    void revoke(const Run& run);

    /// Returns the key that the next dump needs to build on these encrypted images (keptKey()). Call it once.
    [[nodiscard]] std::shared_ptr<crypto::SecretBytes> takeKey() noexcept;

    std::unique_ptr<ImageDir> place;      ///< images directory, if `images` is a spool
    std::unique_ptr<ImageOutlet> outlet;  ///< null if the images stay in `images`
    ImageDir images;
    std::shared_ptr<crypto::SecretBytes> serverKeys;  ///< keys for a page server that encrypts pages (sendKeys())

private:
    SignedParent signedParent_;
    std::shared_ptr<crypto::SecretBytes> key_;

    [[nodiscard]] const ImageDir& directory() const noexcept { return place ? *place : images; }

    bool reachable_;  ///< the images directory had a valid path at the start
};

/// Opens the images of a dump or pre-dump, as options say: --stream, --stream-to, or the images directory with its
/// parents. `tracking` has the key of encrypted parent images; may be null. Throws Error.
[[nodiscard]] OutgoingImages openOutgoing(Run& run, WpTrackerLink* tracking = nullptr);

/// Images of a restore, and their supply.
struct IncomingImages {
    IncomingImages(ImageDir found, std::unique_ptr<StreamerSupply> from, std::optional<ImageDir> place);
    ~IncomingImages();
    IncomingImages(const IncomingImages&) = delete;
    IncomingImages& operator=(const IncomingImages&) = delete;

    /// Moves all descriptors of images to other numbers.
    void move(const std::function<UniqueFd(UniqueFd)>& mover);
    /// Ends the transfer: closes the image streamer and empties spools. With lazy pages criu may run as long as the
    /// restored processes, and would hold the memory of the spool.
    void dismiss() noexcept;
    /// Returns the descriptor of the directory that the user named.
    [[nodiscard]] int placeFd() const noexcept { return place ? place->fd() : images.fd(); }

    std::optional<ImageDir> place;           ///< images directory, if `images` is a spool
    std::unique_ptr<StreamerSupply> supply;  ///< null if all images are here already
    ImageDir images;
};

/// Opens the images of a restore. Receives all of --stream-from, verifies all signatures, and decrypts all encrypted
/// images. Throws Error.
[[nodiscard]] IncomingImages openIncoming(Run& run);

/// Returns true if a restore frees pages in images after reading them: with --auto-dedup, or if the images are in a
/// spool. A spool is in memory and only this restore reads it.
[[nodiscard]] bool freesWhatIsRead(const model::Options& options) noexcept;

}  // namespace criu::engine
