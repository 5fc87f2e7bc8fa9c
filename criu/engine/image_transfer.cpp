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

/// The signature is looked at if the user has said whose it has to be. Whether it was. `into` gets a copy of what was
/// signed; null: nothing does.
bool verifySignature(Run& run, const ImageDir& images, const ImageDir* into) {
    if (run.keys.signers.empty()) {
        if (images.exists(ImageKind::Signature))
            run.log.info("The images in {} are signed; --signed-by compares that", images.name());
        return false;
    }
    if (images.openParent())
        fail("the images in {} build on earlier ones, which their signature doesn't know", images.name());
    run.log.stage("signature");
    requireSigned(images, run.keys.signers, into, [&run] { run.stop.throwIfRequested(); });
    run.log.info("The images in {} are as they were signed", images.name());
    return true;
}

/// The key of encrypted images; nothing if they aren't encrypted. The user's secret keys are gone then, before any
/// process is made that would have a copy of them.
std::optional<DumpKey> keyOf(Run& run, const ImageDir& images) {
    const std::vector<crypto::SecretBytes> identities = std::exchange(run.keys.identities, {});
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
    run.log.stage("decrypt");
    ImageDir spool = makeSpool(run.options.streamMemory, images.name());
    const DecryptedAmounts amounts = decryptImages(images, *key, &spool, [&run] { run.stop.throwIfRequested(); });
    run.log.info("{} has {} encrypted files of {} bytes", images.name(), amounts.files, amounts.bytes);
    return spool;
}

/// A copy in memory of images that somebody has signed whom the user trusts; nothing if no signature is asked for.
/// Nobody can exchange them between the look at their signature and their use.
std::optional<ImageDir> copyOfSigned(Run& run, const ImageDir& images) {
    if (run.keys.signers.empty()) {
        (void)verifySignature(run, images, nullptr);
        return std::nullopt;
    }
    ImageDir spool = makeSpool(run.options.streamMemory, images.name());
    (void)verifySignature(run, images, &spool);
    return spool;
}

}  // namespace

OutgoingImages::OutgoingImages(ImageDir made, std::unique_ptr<ImageOutlet> to, std::unique_ptr<ImageDir> at)
    : place(std::move(at)), outlet(std::move(to)), images(std::move(made)) {
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
        signImages(directory(), run.keys.signer->bytes(), [&run] { run.stop.throwIfRequested(); });
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
    if (!options.stream && !options.streamTo && !encrypted)
        return {openDumpImages(run), nullptr, nullptr};
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

std::vector<std::string> verifySecrecy(Run& run, const ImageDir& images) {
    std::vector<std::string> found;
    if (verifySignature(run, images, nullptr))
        found.push_back(fmt::format("{}: all files are as they were signed", images.name()));
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
