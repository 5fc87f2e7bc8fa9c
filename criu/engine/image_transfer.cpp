// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/image_transfer.hpp"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "criu/base/byte_stream.hpp"
#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/names.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/dump_images.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/image_keys.hpp"
#include "criu/engine/stream_end.hpp"
#include "criu/image/directory_outlet.hpp"
#include "criu/image/encrypting_outlet.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/image_outlet.hpp"
#include "criu/image/image_streamer.hpp"
#include "criu/image/old_images.hpp"
#include "criu/image/signature.hpp"
#include "criu/image/spool.hpp"
#include "criu/image/stream_reader.hpp"
#include "criu/image/stream_writer.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

/// Whether the directory's path, as the kernel knows it now, leads to the directory. That of one that was unmounted or
/// removed doesn't, nor that of one in another mount namespace.
bool isReachable(const ImageDir& directory) {
    const std::string link = fmt::format("/proc/self/fd/{}", directory.fd());
    std::array<char, PATH_MAX> path{};
    const auto rights = directory.takeRights();
    struct stat here {};
    struct stat there {};
    return ::readlink(link.c_str(), path.data(), path.size() - 1) > 0 && ::fstat(directory.fd(), &here) == 0 &&
           ::stat(path.data(), &there) == 0 && Inode::of(here) == Inode::of(there);
}

ByteStream streamOf(Run& run) {
    return {run.stream.take(), run.stop, run.stream.patience(), run.stream.name()};
}

/// All of a stream.
ImageDir receive(Run& run) {
    run.log.stage("stream");
    ImageDir spool = makeSpool(run.options.streamMemory);
    ByteStream in = streamOf(run);
    const StreamAmounts amounts = receiveStream(in, spool);
    run.log.info("{} had {} files in {} bytes", in.name(), amounts.files, amounts.bytes);
    return spool;
}

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

/// The key of encrypted images; nothing if they aren't encrypted. The user's secret keys are gone then, before any
/// process is made that would have a copy of them.
std::optional<DumpKey> keyOf(Run& run, const ImageDir& images) {
    const std::vector<crypto::SecretKey> identities = std::exchange(run.keys.identities, {});
    if (!areEncrypted(images)) {
        if (!identities.empty())
            fail("the images in {} aren't encrypted, but --decrypt is given", images.name());
        return std::nullopt;
    }
    if (identities.empty()) {
        Error error(0, fmt::format("the images in {} are encrypted", images.name()));
        error.addHint("--decrypt names a file with the secret key of a recipient");
        throw error;
    }
    return std::optional<DumpKey>(std::in_place, images, identities);
}

/// What encrypted images are in clear, in memory; nothing if they aren't encrypted.
std::optional<ImageDir> decrypted(Run& run, const ImageDir& images) {
    const std::optional<DumpKey> key = keyOf(run, images);
    if (!key)
        return std::nullopt;
    if (images.parent() != nullptr)
        fail("the images in {} are encrypted, and build on earlier ones", images.name());
    run.log.stage("decrypt");
    ImageDir spool = makeSpool(run.options.streamMemory, images.name());
    const DecryptedAmounts amounts = decryptImages(images, *key, &spool, [&run] { run.stop.throwIfRequested(); });
    run.log.info("{} has {} encrypted files of {} bytes", images.name(), amounts.files, amounts.bytes);
    return spool;
}

/// A copy in memory of images that somebody has signed whom the user trusts, and of those that they build on; nothing
/// if no signature is asked for.
std::optional<ImageDir> copyOfSigned(Run& run, ImageDir& images) {
    if (!verifiesSignature(run, images))
        return std::nullopt;
    std::vector<ImageDir> chain = requireSignedChain(run, images, true);
    for (; chain.size() > 1; chain.pop_back())
        chain[chain.size() - 2].adoptParent(std::move(chain.back()));
    return std::move(chain.front());
}

/// What a dump that is to be signed reads of the images it builds on, and which they are. They have to be signed with
/// the same key, and what is read of them is copied first: so an id of tracked memory is that of the dump that has it.
SignedParent takeSignedParent(Run& run, ImageDir& images) {
    if (!run.keys.signer || images.parent() == nullptr)
        return std::nullopt;
    const ErrorContext context([] { return "what signed images build on"; });
    const Signers own{{crypto::X509().signerOfSecret(run.keys.signer->key.bytes())}, {}, {}};
    ImageDir records = makeSpool(run.options.streamMemory, images.parent()->name());
    const SignedLink link = requireSigned(
        *images.parent(), own, &records, [&run] { run.stop.throwIfRequested(); }, SignedPart::Records);
    images.adoptParent(std::move(records));
    return link.id;
}

}  // namespace

OutgoingImages::OutgoingImages(ImageDir made, std::unique_ptr<ImageOutlet> to, std::unique_ptr<ImageDir> at,
                               SignedParent signedParent)
    : place(std::move(at)), outlet(std::move(to)), images(std::move(made)), signedParent_(signedParent) {
    images.setOutlet(outlet.get());
    reachable_ = isReachable(directory());
}

OutgoingImages::~OutgoingImages() = default;

void OutgoingImages::complete(Run& run) {
    if (outlet) {
        sendImages(images, *outlet, Sent::All);
        outlet->finish();
    }
    if (run.keys.signer)
        signImages(directory(), *run.keys.signer, signedParent_, [&run] { run.stop.throwIfRequested(); });
    // What is written into a file system that is unmounted is lost when criu ends, and no call reports that.
    if (reachable_ && !isReachable(directory()))
        fail("image directory {}: it was unmounted or removed while images were written, nobody would find them",
             directory().name());
}

void OutgoingImages::revoke(const Run& run) {
    images.unlink(ImageKind::Inventory);
    if (place && !run.options.stream && !run.options.streamTo)
        place->unlink(ImageKind::Inventory);
}

OutgoingImages openOutgoing(Run& run) {
    const model::Options& options = run.options;
    const bool encrypted = !run.keys.recipients.empty();
    if (!options.stream && !options.streamTo && !encrypted) {
        ImageDir images = openDumpImages(run);
        const SignedParent parent = takeSignedParent(run, images);
        return {std::move(images), nullptr, nullptr, parent};
    }
    auto place = std::make_unique<ImageDir>(takeImages(run));
    std::unique_ptr<ImageOutlet> outlet;
    if (options.stream) {
        outlet = std::make_unique<StreamerOutlet>(*place, StreamerConnection{run.stop, options.timeout});
    } else if (options.streamTo) {
        outlet = std::make_unique<StreamWriter>(streamOf(run));
    } else {
        removeOldImages(*place);
        outlet = std::make_unique<DirectoryOutlet>(*place);
    }
    if (encrypted)
        outlet = std::make_unique<EncryptingOutlet>(std::move(outlet), run.keys.recipients);
    ImageDir spool = makeSpool(options.streamMemory);
    if (options.checksum.value_or(false))
        spool.takeChecksums();
    return {std::move(spool), std::move(outlet), std::move(place)};
}

IncomingImages::IncomingImages(ImageDir found, std::unique_ptr<StreamerSupply> from, std::optional<ImageDir> at)
    : place(std::move(at)), supply(std::move(from)), images(std::move(found)) {
    if (!supply)
        return;
    supply->setDirectory(images);
    images.setSupply(supply.get());
}

IncomingImages::~IncomingImages() = default;

void IncomingImages::move(const std::function<UniqueFd(UniqueFd)>& mover) {
    images.move(mover);
    if (supply)
        supply->move(mover);
}

void IncomingImages::dismiss() noexcept {
    if (supply)
        supply->close();
    for (const ImageDir* each = place ? &images : nullptr; each != nullptr; each = each->parent())
        emptySpool(*each);
}

IncomingImages openIncoming(Run& run) {
    const model::Options& options = run.options;
    ImageDir place = takeImages(run);
    if (options.stream) {
        auto supply = std::make_unique<StreamerSupply>(place, StreamerConnection{run.stop, options.timeout});
        return {makeSpool(options.streamMemory), std::move(supply), std::move(place)};
    }
    std::optional<ImageDir> spool;
    if (options.streamFrom)
        spool = receive(run);
    if (auto same = copyOfSigned(run, spool ? *spool : place))
        spool = std::move(same);
    if (auto plain = decrypted(run, spool ? *spool : place))
        spool = std::move(plain);
    if (!spool)
        return {std::move(place), nullptr, std::nullopt};
    return {std::move(*spool), nullptr, std::move(place)};
}

std::vector<std::string> verifySecrecy(Run& run, ImageDir& images) {
    std::vector<std::string> found;
    if (verifiesSignature(run, images)) {
        (void)requireSignedChain(run, images, false);
        found.push_back(fmt::format("{}: all files are as they were signed", images.name()));
    }
    if (const std::optional<DumpKey> key = keyOf(run, images)) {
        const DecryptedAmounts amounts = decryptImages(images, *key, nullptr, [&run] { run.stop.throwIfRequested(); });
        found.push_back(fmt::format("{}: {} files of {} bytes are as they were encrypted", images.name(), amounts.files,
                                    amounts.bytes));
    }
    return found;
}

bool freesWhatIsRead(const model::Options& options) noexcept {
    return options.autoDedup || options.stream || options.streamFrom || options.decrypt || options.signedBy;
}

int packStream(Run& run) {
    const ImageDir images = takeImages(run);
    if (images.openParent())
        fail("the images in {} build on earlier ones, which a stream can't have with it", images.name());
    StreamWriter out(streamOf(run));
    sendImages(images, out, Sent::Images);
    out.finish();
    return 0;
}

int unpackStream(Run& run) {
    const ImageDir images = takeImages(run);
    removeOldImages(images);
    ByteStream in = streamOf(run);
    const StreamAmounts amounts = receiveStream(in, images);
    run.log.info("{} had {} files in {} bytes", in.name(), amounts.files, amounts.bytes);
    return 0;
}

}  // namespace criu::engine
