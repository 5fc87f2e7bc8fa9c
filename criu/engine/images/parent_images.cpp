// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/parent_images.hpp"

#include <fcntl.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/hex.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/image_keys.hpp"
#include "criu/engine/predump/wp_tracker_daemon.hpp"
#include "criu/image/signature.hpp"
#include "criu/image/spool.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

/// Size in bytes of one of the two keys in a kept key. A kept key consists of the key of records, the key of the page
/// server's records, and the hash of recipients.
constexpr std::size_t kKey = DumpKey::kKeptSize;
static_assert(kImagesKeySize == 2 * kKey + crypto::kHashSize);

/// Verifies the signature of parent images, and copies their records to `copy`. Throws Error if another key than the
/// key of this dump has signed them.
SignedParent copySigned(Run& run, const ImageDir& images, const ImageDir& copy) {
    const ErrorContext context([] { return "what signed images build on"; });
    const Signers own{{crypto::X509().signerOfSecret(run.keys.signer->key.bytes())}, {}, {}};
    const SignedLink link = requireSigned(
        images, own, &copy, [&run] { run.stop.throwIfRequested(); }, SignedPart::Records);
    return link.id;
}

}  // namespace

crypto::Hash hashOf(std::span<const crypto::PublicKey> recipients) {
    std::set<std::string> all;
    for (const crypto::PublicKey& each : recipients) {
        std::string text = fmt::format("{}", static_cast<std::uint32_t>(each.type));
        for (const auto& part : {each.bytes, each.exponent})
            text += ' ' + toHex(part);
        all.insert(std::move(text));
    }
    std::string joined;
    for (const std::string& each : all)
        joined += each + '\n';
    return crypto::Symmetric().hash(std::as_bytes(std::span(joined)));
}

void linkParentImages(Run& run, ImageDir& images) {
    const std::string& previous = *run.options.previousImages;
    if (previous.starts_with('/'))
        run.log.warn("The earlier images {} are found by an absolute path: they can't be moved any more", previous);
    {
        const auto rights = images.takeRights();
        const UniqueFd there(sys(::openat(images.fd(), previous.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC),
                                 "open the earlier images {} (relative to {})", previous, images.name()));
    }
    images.linkParent(previous);
    images.openParents();
}

SignedParent takePlainParent(Run& run, ImageDir& images) {
    if (!run.keys.signer)
        return std::nullopt;
    if (images.parent() == nullptr) {
        images.unlinkParent();  // link of an earlier dump, which a restore would refuse here
        return std::nullopt;
    }
    ImageDir records = makeSpool(run.options.streamMemory, images.parent()->name());
    const SignedParent id = copySigned(run, *images.parent(), records);
    images.adoptParent(std::move(records));
    return id;
}

EncryptedParent takeEncryptedParent(Run& run, ImageDir& place, WpTrackerLink* tracking) {
    if (!run.options.previousImages) {
        place.unlinkParent();  // link of an earlier dump, which a restore would refuse here
        return {};
    }
    linkParentImages(run, place);
    const ImageDir& earlier = *place.parent();
    const auto withoutParent = [&](std::string_view why) {
        run.log.warn("{} {}: memory is dumped whole, and without them", why, earlier.name());
        place.unlinkParent();
        return EncryptedParent();
    };
    if (!areEncrypted(earlier))
        fail("the images in {} aren't encrypted: what builds on them can't be either", earlier.name());
    const std::shared_ptr<crypto::SecretBytes> kept = tracking != nullptr ? tracking->imagesKey() : nullptr;
    const auto key = kept ? std::optional(DumpKey::Kept(kept->bytes().first<kKey>())) : std::nullopt;
    if (!key || !DumpKey::isKept(earlier, *key))
        return withoutParent("No tracker has recorded the pages written since the images in");
    if (!std::ranges::equal(kept->bytes().subspan(2 * kKey), hashOf(run.keys.recipients)))
        fail("the images in {} are encrypted for other recipients: a restore of the chain needs one key for all images",
             earlier.name());
    EncryptedParent parent;
    // Reads only the verified copy of the records, so that the signature and the encryption key surely belong to the
    // same images.
    std::optional<ImageDir> copy;
    if (run.keys.signer) {
        copy = makeSpool(run.options.streamMemory, earlier.name());
        parent.signedId = copySigned(run, earlier, *copy);
    }
    const DumpKey own(copy ? *copy : earlier, *key);
    if (own.bonds().pagesApart != run.options.pageServer)
        return withoutParent(own.bonds().pagesApart ? "A page server has the pages of the images in"
                                                    : "No page server has the pages of the images in");
    parent.id = own.id();
    if (own.bonds().pagesApart) {
        parent.pagesKey = std::make_shared<crypto::SecretBytes>(kKey);
        std::ranges::copy(kept->bytes().subspan(kKey, kKey), parent.pagesKey->bytes().begin());
    }
    parent.records = makeSpool(run.options.streamMemory, earlier.name());
    decryptImages(
        earlier, own, &*parent.records, [&run] { run.stop.throwIfRequested(); }, DecryptedPart::Records);
    return parent;
}

std::shared_ptr<crypto::SecretBytes> keptKey(const DumpKey& key, std::span<const crypto::PublicKey> recipients) {
    auto kept = std::make_shared<crypto::SecretBytes>(kImagesKeySize);
    key.keepRecords(kept->bytes().first<kKey>());
    key.keepRecordsOfPages(kept->bytes().subspan<kKey, kKey>());
    std::ranges::copy(hashOf(recipients), kept->bytes().subspan(2 * kKey).begin());
    return kept;
}

}  // namespace criu::engine
