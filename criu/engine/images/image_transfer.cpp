// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/images/image_transfer.hpp"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "criu/base/byte_stream.hpp"
#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/base/names.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/dump_images.hpp"
#include "criu/engine/images/encrypted_pages.hpp"
#include "criu/engine/images/image_keys.hpp"
#include "criu/engine/images/image_stream_file.hpp"
#include "criu/engine/images/parent_images.hpp"
#include "criu/engine/images/secret_images.hpp"
#include "criu/image/directory_outlet.hpp"
#include "criu/image/encrypting_outlet.hpp"
#include "criu/image/image_outlet.hpp"
#include "criu/image/image_streamer.hpp"
#include "criu/image/old_images.hpp"
#include "criu/image/signature.hpp"
#include "criu/image/spool.hpp"
#include "criu/image/stream_reader.hpp"
#include "criu/image/stream_writer.hpp"
#include "criu/image/sync_images.hpp"
#include "criu/kernel/confined_process.hpp"
#include "criu/kernel/file_rights.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

/// Returns 0 if the path of the directory still leads to this directory, and else the number of an error. Returns
/// ENOENT if the directory was unmounted or removed, or is in a different mount namespace.
int lookAtPath(const ImageDir& directory) {
    const std::string link = fmt::format("/proc/self/fd/{}", directory.fd());
    std::array<char, PATH_MAX> path{};
    const auto rights = directory.takeRights();
    struct stat here {};
    struct stat there {};
    if (::readlink(link.c_str(), path.data(), path.size() - 1) < 0 || ::fstat(directory.fd(), &here) != 0 ||
        ::stat(path.data(), &there) != 0)
        return errno;
    return Inode::of(here) == Inode::of(there) ? 0 : ENOENT;
}

ByteStream streamOf(Run& run) {
    return {run.stream.take(), run.stop, run.stream.patience(), run.stream.name()};
}

/// Receives the whole stream of --stream-from into a spool.
ImageDir receive(Run& run) {
    run.log.stage("stream");
    ImageDir spool = makeSpool(run.options.streamMemory);
    ByteStream in = streamOf(run);
    const StreamAmounts amounts = receiveStream(in, spool);
    run.log.info("{} had {} files in {} bytes", in.name(), amounts.files, amounts.bytes);
    return spool;
}

}  // namespace

OutgoingImages::OutgoingImages(ImageDir made, std::unique_ptr<ImageOutlet> to, std::unique_ptr<ImageDir> at,
                               SignedParent signedParent, std::shared_ptr<crypto::SecretBytes> key,
                               std::shared_ptr<crypto::SecretBytes> forServer)
    : place(std::move(at)),
      outlet(std::move(to)),
      images(std::move(made)),
      serverKeys(std::move(forServer)),
      signedParent_(signedParent),
      key_(std::move(key)) {
    images.setOutlet(outlet.get());
    reachable_ = lookAtPath(directory()) == 0;
}

OutgoingImages::~OutgoingImages() = default;

std::shared_ptr<crypto::SecretBytes> OutgoingImages::takeKey() noexcept {
    return std::move(key_);
}

void OutgoingImages::complete(Run& run) {
    if (outlet) {
        sendImages(images, *outlet, Sent::All);
        outlet->finish();
    }
    if (run.keys.signer)
        signImages(directory(), *run.keys.signer, signedParent_, [&run] { run.stop.throwIfRequested(); });
    // Checks the path explicitly: if the file system was unmounted, system calls still succeed, but the kernel discards
    // the files when criu ends.
    const int code = reachable_ ? lookAtPath(directory()) : 0;
    if (code != 0 && code != ENOENT && code != ENOTDIR)
        failWith(code, "look at image directory {}", directory().name());
    if (code != 0)
        fail("image directory {}: it was unmounted or removed while criu wrote images, so the images would be lost",
             directory().name());
}

void OutgoingImages::sync(Run& run, bool byDefault) const {
    const model::Options& options = run.options;
    if (options.dryRun || options.stream || options.streamTo)
        return;
    if (!options.sync.value_or(byDefault && isOnDisk(directory())))
        return;
    run.log.stage("sync");
    syncImages(directory(), [&run] { run.stop.throwIfRequested(); });
}

void OutgoingImages::revoke(const Run& run) {
    images.unlink(ImageKind::Inventory);
    if (place && !run.options.stream && !run.options.streamTo)
        place->unlink(ImageKind::Inventory);
}

OutgoingImages openOutgoing(Run& run, WpTrackerLink* tracking) {
    const model::Options& options = run.options;
    if (options.dryRun)
        return {takeImages(run), nullptr, nullptr};
    const bool encrypted = !run.keys.recipients.empty();
    if (!options.stream && !options.streamTo && !encrypted) {
        ImageDir images = openDumpImages(run);
        const SignedParent parent = takePlainParent(run, images);
        return {std::move(images), nullptr, nullptr, parent};
    }
    auto place = std::make_unique<ImageDir>(takeImages(run));
    EncryptedParent parent;
    if (encrypted && !options.streamTo)
        parent = takeEncryptedParent(run, *place, tracking);
    std::unique_ptr<ImageOutlet> outlet;
    if (options.stream) {
        outlet = std::make_unique<StreamerOutlet>(*place, StreamerConnection{run.stop, options.timeout});
    } else if (options.streamTo) {
        outlet = std::make_unique<StreamWriter>(streamOf(run));
    } else {
        removeOldImages(*place);
        outlet = std::make_unique<DirectoryOutlet>(*place);
    }
    std::shared_ptr<crypto::SecretBytes> kept;
    std::shared_ptr<crypto::SecretBytes> forServer;
    if (encrypted) {
        // With --page-server, parent images are at the page server and consist only of pages. The images that aren't
        // pages therefore have no parent id.
        auto key = std::make_unique<const DumpKey>(
            EncryptionLinks{options.pageServer ? std::nullopt : parent.id, options.pageServer, tracking != nullptr});
        if (tracking != nullptr)
            kept = keptKey(*key, run.keys.recipients);
        if (options.pageServer)
            forServer = keysForServer(*key, run.keys.recipients, parent.pagesKey.get());
        outlet = std::make_unique<EncryptingOutlet>(std::move(outlet), run.keys.recipients, std::move(key));
    }
    ImageDir spool = makeSpool(options.streamMemory);
    if (options.checksum.value_or(false))
        spool.takeChecksums();
    if (parent.records)
        spool.adoptParent(std::move(*parent.records));
    return {std::move(spool), std::move(outlet), std::move(place),
            parent.signedId,  std::move(kept),   std::move(forServer)};
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
    if (images.unpacked() != nullptr)
        emptySpool(*images.unpacked());
}

IncomingImages openIncoming(Run& run) {
    const model::Options& options = run.options;
    if (options.untrusted)
        kernel::requireConfinement();
    run.log.refuseLosses(~options.allowedLosses);
    ImageDir place = takeImages(run);
    place.setLossLog(run.log);
    if (options.stream) {
        auto supply = std::make_unique<StreamerSupply>(place, StreamerConnection{run.stop, options.timeout});
        ImageDir spool = makeSpool(options.streamMemory);
        spool.setLossLog(run.log);
        return {std::move(spool), std::move(supply), std::move(place)};
    }
    std::optional<ImageDir> spool;
    // Each spool has the content of untrusted images, and the next step already decodes records of it.
    const auto use = [&](std::optional<ImageDir> made) {
        if (!made)
            return;
        spool = std::move(made);
        if (options.untrusted)
            spool->distrust();
    };
    if (options.streamFrom)
        use(receive(run));
    use(copyOfSigned(run, spool ? *spool : place));
    use(decrypted(run, spool ? *spool : place));
    if (!spool)
        return {std::move(place), nullptr, std::nullopt};
    spool->setLossLog(run.log);
    return {std::move(*spool), nullptr, std::move(place)};
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
