// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/secret_images.hpp"

#include <memory>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/image_keys.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/signature.hpp"
#include "criu/image/spool.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

/// Images that are signed by whom the user trusts, and those that they build on; with copies of all, if they are
/// wanted: nobody can exchange these between the look at their signature and their use.
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

/// Whether the user wants signatures to be looked at.
bool verifiesSignature(Run& run, const ImageDir& images) {
    if (run.keys.signers.empty() && images.exists(ImageKind::Signature))
        run.log.info("The images in {} are signed; --signed-by compares that", images.name());
    return !run.keys.signers.empty();
}

/// One directory of the whole after the other becomes the parent of the one before.
ImageDir joined(std::vector<ImageDir> chain) {
    for (; chain.size() > 1; chain.pop_back())
        chain[chain.size() - 2].adoptParent(std::move(chain.back()));
    return std::move(chain.front());
}

using Keys = std::vector<std::unique_ptr<const DumpKey>>;

/// The keys of encrypted images and of those that they build on, which are the ones that they mean.
Keys keysOfChain(const ImageDir& images, std::span<const crypto::SecretKey> identities) {
    Keys keys;
    std::optional<EncryptedId> expected;
    for (const ImageDir* each = &images; each != nullptr; each = each->parent()) {
        if (!areEncrypted(*each))
            fail("the images in {} aren't encrypted, but those that build on them are", each->name());
        const DumpKey& key = *keys.emplace_back(std::make_unique<const DumpKey>(*each, identities));
        if (expected && key.id() != *expected)
            fail("the images in {} are encrypted, but aren't those that the next ones build on", each->name());
        if (each->parent() != nullptr && !key.parent())
            fail("the images in {} build on none, but have a link to earlier ones", each->name());
        if (each->parent() == nullptr && key.parent())
            fail("the images in {} build on earlier ones, but have no link to them", each->name());
        expected = key.parent();
    }
    return keys;
}

/// The keys of encrypted images and of those that they build on; none if they aren't encrypted. The user's secret keys
/// are gone then.
Keys keysOf(Run& run, ImageDir& images) {
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
        Error error(0, fmt::format("the images in {} are encrypted", images.name()));
        error.addHint("--decrypt names a file with the secret key of a recipient");
        throw error;
    }
    return keysOfChain(images, identities);
}

}  // namespace

std::optional<ImageDir> copyOfSigned(Run& run, ImageDir& images) {
    if (!verifiesSignature(run, images))
        return std::nullopt;
    return joined(requireSignedChain(run, images, true));
}

std::optional<ImageDir> decrypted(Run& run, ImageDir& images) {
    const Keys keys = keysOf(run, images);
    if (keys.empty())
        return std::nullopt;
    run.log.stage("decrypt");
    std::vector<ImageDir> made;
    const ImageDir* each = &images;
    for (auto key = keys.begin(); key != keys.end(); ++key, each = each->parent()) {
        made.push_back(makeSpool(run.options.streamMemory, each->name()));
        const DecryptedAmounts amounts =
            decryptImages(*each, **key, &made.back(), [&run] { run.stop.throwIfRequested(); });
        run.log.info("{} has {} encrypted files of {} bytes", each->name(), amounts.files, amounts.bytes);
    }
    return joined(std::move(made));
}

std::vector<std::string> verifySecrecy(Run& run, ImageDir& images) {
    std::vector<std::string> found;
    if (verifiesSignature(run, images)) {
        (void)requireSignedChain(run, images, false);
        found.push_back(fmt::format("{}: all files are as they were signed", images.name()));
    }
    const ImageDir* each = &images;
    for (const auto& key : keysOf(run, images)) {
        const DecryptedAmounts amounts = decryptImages(*each, *key, nullptr, [&run] { run.stop.throwIfRequested(); });
        found.push_back(fmt::format("{}: {} files of {} bytes are as they were encrypted", each->name(), amounts.files,
                                    amounts.bytes));
        each = each->parent();
    }
    return found;
}

}  // namespace criu::engine
