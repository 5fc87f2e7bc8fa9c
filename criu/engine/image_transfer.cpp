// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/image_transfer.hpp"

#include <utility>

#include "criu/base/byte_stream.hpp"
#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/dump_images.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/stream_end.hpp"
#include "criu/image/image_outlet.hpp"
#include "criu/image/image_streamer.hpp"
#include "criu/image/old_images.hpp"
#include "criu/image/spool.hpp"
#include "criu/image/stream_reader.hpp"
#include "criu/image/stream_writer.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

ByteStream streamOf(Run& run) {
    return {run.stream.take(), run.stop, run.stream.patience(), run.stream.name()};
}

}  // namespace

OutgoingImages::OutgoingImages(ImageDir made, std::unique_ptr<ImageOutlet> to, std::optional<ImageDir> at)
    : place(std::move(at)), outlet(std::move(to)), images(std::move(made)) {
    images.setOutlet(outlet.get());
}

OutgoingImages::~OutgoingImages() = default;

void OutgoingImages::complete() {
    if (!outlet)
        return;
    sendImages(images, *outlet, Sent::All);
    outlet->finish();
}

OutgoingImages openOutgoing(Run& run) {
    const model::Options& options = run.options;
    if (!options.stream && !options.streamTo)
        return {openDumpImages(run), nullptr, std::nullopt};
    ImageDir place = takeImages(run);
    std::unique_ptr<ImageOutlet> outlet;
    if (options.stream)
        outlet = std::make_unique<StreamerOutlet>(place, StreamerConnection{run.stop, options.timeout});
    else
        outlet = std::make_unique<StreamWriter>(streamOf(run));
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
    if (!options.streamFrom)
        return {std::move(place), nullptr, std::nullopt};
    run.log.stage("stream");
    ImageDir spool = makeSpool(options.streamMemory);
    ByteStream in = streamOf(run);
    const StreamAmounts amounts = receiveStream(in, spool);
    run.log.info("{} had {} files in {} bytes", in.name(), amounts.files, amounts.bytes);
    return {std::move(spool), nullptr, std::move(place)};
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
