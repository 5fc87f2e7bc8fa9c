// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/secret_images.hpp"

#include <memory>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/image_keys.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/signature.hpp"
#include "criu/image/spool.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

/// Throws Error if trusted signers haven't signed the images and all their parent images. With `copies`, returns copies
/// of all images in spools; no process can change a copy between verification and use.
std::vector<ImageDir> requireSignedChain(Run& run, ImageDir& images, bool copies) {
    run.log.stage("signature");
    images.openParents();
    std::vector<ImageDir> made;
    std::optional<SignedId> expected;
    for (const ImageDir* each = &images; each != nullptr; each = each->parent()) {
        if (copies)
            made.push_back(makeSpool(run.options.streamMemory, each->name()));
        const SignedLink link = requireSigned(*each, run.keys.signers, copies ? &made.back() : nullptr,
                                              [&run] { run.stop.throwIfRequested(); });
        if (expected && link.id != *expected)
            fail("the images in {} are signed, but aren't those that the next ones build on", each->name());
        if (each->parent() != nullptr && !link.parent)
            fail("the images in {} build on earlier ones, which their signature doesn't know", each->name());
        if (each->parent() == nullptr && link.parent)
            fail("the images in {} build on earlier ones, but have no link to them", each->name());
        expected = link.parent;
        run.log.info("The images in {} are as they were signed", each->name());
    }
    return made;
}

/// Returns true if the user gave keys to verify signatures (--signed-by).
bool verifiesSignature(Run& run, const ImageDir& images) {
    if (run.keys.signers.empty() && images.exists(ImageKind::Signature))
        run.log.info("The images in {} are signed; --signed-by compares that", images.name());
    return !run.keys.signers.empty();
}

/// Makes each directory in the list the parent of the directory before it. Returns the first directory.
ImageDir joined(std::vector<ImageDir> chain) {
    for (; chain.size() > 1; chain.pop_back())
        chain[chain.size() - 2].adoptParent(std::move(chain.back()));
    return std::move(chain.front());
}

/// Directory of encrypted images with its keys.
struct Link {
    const ImageDir& images;
    /// Key of the dump's images. Null if the restore needs only pages that a page server has stored here.
    std::unique_ptr<const DumpKey> dump;
    std::unique_ptr<const DumpKey> pages;  ///< key of pages that a page server has stored; null without such pages

    /// Returns the key to which the encryption link of the next dump refers.
    [[nodiscard]] const DumpKey& key() const noexcept { return pages ? *pages : *dump; }
};

/// Returns true if the directory has only pages that a page server has stored.
bool hasPagesOnly(const ImageDir& images) {
    return images.exists(kPagesSet.head) && !images.exists(kDumpSet.head);
}

/// Opens the keys of one directory. `first`: true for the images that the user restores, false for parent images.
/// `apart`: true if the restore needs only pages that a page server has stored in this directory.
Link openLink(const ImageDir& images, std::span<const crypto::SecretKey> identities, bool first, bool apart) {
    Link link{images, nullptr, nullptr};
    if (!areEncrypted(images))
        fail("the images in {} aren't encrypted, but those that build on them are", images.name());
    if (!apart)
        link.dump = std::make_unique<const DumpKey>(images, identities);
    if (!first && link.dump && link.dump->bonds().pagesApart)
        fail("the images in {} are encrypted, but aren't those that the next ones build on", images.name());
    if (apart || (link.dump && link.dump->bonds().pagesApart))
        link.pages = std::make_unique<const DumpKey>(images, identities, kPagesSet);
    if (link.dump && link.pages && (!link.pages->bonds().builtUpon || link.pages->id() != link.dump->idOfPages()))
        fail("the pages in {}, which a page server has stored, are of another dump", images.name());
    return link;
}

/// Opens the keys of encrypted images and of their parent images. Throws Error if the encryption link of some images
/// doesn't match their parent images.
std::vector<Link> openChain(const ImageDir& images, std::span<const crypto::SecretKey> identities) {
    std::vector<Link> chain;
    for (const ImageDir* each = &images; each != nullptr; each = each->parent()) {
        const bool first = chain.empty();
        const bool apart = first ? hasPagesOnly(*each) : chain.front().pages != nullptr;
        chain.push_back(openLink(*each, identities, first, apart));
        const DumpKey& key = chain.back().key();
        if (!first && (!key.bonds().builtUpon || key.id() != chain[chain.size() - 2].key().bonds().parent))
            fail("the images in {} are encrypted, but aren't those that the next ones build on", each->name());
        if (each->parent() != nullptr && !key.bonds().parent)
            fail("the images in {} build on none, but have a link to earlier ones", each->name());
        if (each->parent() == nullptr && key.bonds().parent)
            fail("the images in {} build on earlier ones, but have no link to them", each->name());
    }
    return chain;
}

/// Decrypts the images of one directory into the directory `into`. If `into` is null, only verifies them.
DecryptedAmounts decryptLink(Run& run, const Link& link, const ImageDir* into) {
    DecryptedAmounts all;
    const auto add = [&](const DumpKey& key, const EncryptedSet& set) {
        const DecryptedAmounts amounts = decryptImages(
            link.images, key, into, [&run] { run.stop.throwIfRequested(); }, DecryptedPart::All, set);
        all.files += amounts.files;
        all.bytes += amounts.bytes;
    };
    if (link.dump)
        add(*link.dump, kDumpSet);
    if (link.pages)
        add(*link.pages, kPagesSet);
    return all;
}

/// Opens the keys of encrypted images and their parent images, then erases the user's secret keys from memory. Returns
/// an empty list if the images aren't encrypted.
std::vector<Link> chainOf(Run& run, ImageDir& images) {
    const std::vector<crypto::SecretKey> identities = std::exchange(run.keys.identities, {});
    images.openParents();
    if (!areEncrypted(images)) {
        if (!identities.empty())
            fail("the images in {} aren't encrypted, but --decrypt is given", images.name());
        for (const ImageDir* each = images.parent(); each != nullptr; each = each->parent())
            if (areEncrypted(*each))
                fail("the images in {} are encrypted, but those that build on them aren't", each->name());
        return {};
    }
    if (identities.empty()) {
        Error error(ENOKEY, fmt::format("the images in {} are encrypted", images.name()));
        error.addHint("--decrypt names a file with the secret key of a recipient");
        throw error;
    }
    return openChain(images, identities);
}

}  // namespace

std::optional<ImageDir> copyOfSigned(Run& run, ImageDir& images) {
    if (!verifiesSignature(run, images))
        return std::nullopt;
    return joined(requireSignedChain(run, images, true));
}

std::optional<ImageDir> decrypted(Run& run, ImageDir& images) {
    const std::vector<Link> chain = chainOf(run, images);
    if (chain.empty())
        return std::nullopt;
    run.log.stage("decrypt");
    std::vector<ImageDir> made;
    for (const Link& link : chain) {
        made.push_back(makeSpool(run.options.streamMemory, link.images.name()));
        const DecryptedAmounts amounts = decryptLink(run, link, &made.back());
        run.log.info("{} has {} encrypted files of {} bytes", link.images.name(), amounts.files, amounts.bytes);
    }
    return joined(std::move(made));
}

std::vector<std::string> verifySecrecy(Run& run, ImageDir& images) {
    std::vector<std::string> found;
    if (verifiesSignature(run, images)) {
        (void)requireSignedChain(run, images, false);
        found.push_back(fmt::format("{}: all files are as they were signed", images.name()));
    }
    for (const Link& link : chainOf(run, images)) {
        const DecryptedAmounts amounts = decryptLink(run, link, nullptr);
        found.push_back(fmt::format("{}: {} files of {} bytes are as they were encrypted", link.images.name(),
                                    amounts.files, amounts.bytes));
    }
    return found;
}

}  // namespace criu::engine
