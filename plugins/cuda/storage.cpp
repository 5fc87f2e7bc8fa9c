// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/storage.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "criu/base/error.hpp"

namespace criu::cuda {
namespace {

template <typename Function>
void find(const Api& api, const char* name, Function*& function, bool& all) {
    function = api.formOf(name, kStorageSince);
    all = all && function != nullptr;
}

std::optional<Storage::Calls> findCalls(const Api& api) {
    Storage::Calls calls{};
    bool all = true;
    find(api, "cuCheckpointOperationComplete", calls.complete, all);
    if (!all)
        return std::nullopt;
    find(api, "cuDeviceGetCount", calls.deviceCount, all);
    find(api, "cuDeviceGet", calls.deviceGet, all);
    find(api, "cuDeviceGetUuid", calls.deviceUuid, all);
    find(api, "cuDevicePrimaryCtxRetain", calls.retainContext, all);
    find(api, "cuDevicePrimaryCtxRelease", calls.releaseContext, all);
    find(api, "cuCtxSetCurrent", calls.setContext, all);
    find(api, "cuCtxGetDevice", calls.contextDevice, all);
    find(api, "cuStreamCreate", calls.createStream, all);
    find(api, "cuStreamDestroy", calls.destroyStream, all);
    find(api, "cuStreamSynchronize", calls.synchronize, all);
    find(api, "cuStreamGetCtx", calls.streamContext, all);
    find(api, "cuMemHostAlloc", calls.allocateHost, all);
    find(api, "cuMemFreeHost", calls.freeHost, all);
    find(api, "cuMemcpyHtoDAsync", calls.copyToDevice, all);
    find(api, "cuMemcpyDtoHAsync", calls.copyToHost, all);
    if (!all)
        return std::nullopt;
    return calls;
}

/// Pinned memory (cuMemHostAlloc()). GPUs copy from and to it without the processor, at the speed of the bus.
class PinnedBuffer {
public:
    PinnedBuffer(const Storage& storage, std::size_t bytes) : storage_(storage) {
        void* start = nullptr;
        storage.api().require(storage.calls().allocateHost(&start, bytes, 0), "get pinned memory to copy through");
        bytes_ = {static_cast<std::byte*>(start), bytes};
    }
    ~PinnedBuffer() { (void)storage_.calls().freeHost(bytes_.data()); }
    PinnedBuffer(const PinnedBuffer&) = delete;
    PinnedBuffer& operator=(const PinnedBuffer&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

private:
    const Storage& storage_;
    std::span<std::byte> bytes_;
};

/// CUDA stream with a buffer. RangeCopier has two lanes: the GPU copies from or to the buffer of one lane while the
/// store uses the buffer of the other lane.
class Lane {
public:
    explicit Lane(const Storage& storage, std::size_t bytes) : storage_(storage), buffer_(storage, bytes) {
        // CU_STREAM_NON_BLOCKING: the stream doesn't wait for other streams of the context.
        constexpr unsigned kNonBlocking = 1;
        storage.api().require(storage.calls().createStream(&stream_, kNonBlocking), "make a stream of CUDA");
    }
    ~Lane() {
        (void)storage_.calls().synchronize(stream_);  // the GPU may still write to the buffer
        (void)storage_.calls().destroyStream(stream_);
    }
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    [[nodiscard]] std::span<std::byte> first(std::uint64_t bytes) const { return buffer_.bytes().first(bytes); }
    [[nodiscard]] std::uint64_t size() const noexcept { return buffer_.bytes().size(); }

    void toHost(std::uint64_t from, std::uint64_t bytes) {
        storage_.api().require(storage_.calls().copyToHost(first(bytes).data(), from, bytes, stream_),
                               "copy from a GPU");
    }
    void toDevice(std::uint64_t to, std::uint64_t bytes) {
        storage_.api().require(storage_.calls().copyToDevice(to, first(bytes).data(), bytes, stream_), "copy to a GPU");
    }
    void wait() { storage_.api().require(storage_.calls().synchronize(stream_), "wait for a copy of a GPU"); }

private:
    const Storage& storage_;
    PinnedBuffer buffer_;
    void* stream_ = nullptr;
};

/// Copier between a range and a store, by two lanes. The GPU copies from or to the buffer of one lane while the store
/// uses the buffer of the other lane.
class RangeCopier final : public device::ContentCopier {
public:
    RangeCopier(const Storage& storage, const StoredRange& range, device::Direction direction,
                std::uint64_t bufferLimit, device::StopCheck checkStop)
        : storage_(storage),
          range_(range),
          direction_(direction),
          part_(std::clamp(bufferLimit / 2, kSmallestPart, kLargestPart) / kImagePageSize * kImagePageSize),
          checkStop_(std::move(checkStop)) {}

    void copy(const device::ContentPiece& piece) override {
        if (!lanes_[0]) {
            storage_.api().require(storage_.calls().setContext(range_.context), "use a GPU");
            for (auto& lane : lanes_)
                lane.emplace(storage_, part_);
        }
        if (direction_ == device::Direction::Save)
            save(piece);
        else
            load(piece);
    }
    [[nodiscard]] const std::string& fallback() const override { return fallback_; }

private:
    static constexpr std::uint64_t kSmallestPart = std::uint64_t{1} << 20;
    static constexpr std::uint64_t kLargestPart = std::uint64_t{16} << 20;

    [[nodiscard]] std::uint64_t partAt(const device::ContentPiece& piece, std::uint64_t done) const {
        return std::min(part_, piece.size - done);
    }

    void save(const device::ContentPiece& piece) {
        const std::uint64_t from = range_.address + piece.start;
        lanes_[0]->toHost(from, partAt(piece, 0));
        for (std::uint64_t done = 0, turn = 0; done < piece.size; ++turn) {
            checkStop_();
            Lane& lane = *lanes_[turn % 2];
            const std::uint64_t bytes = partAt(piece, done);
            const std::uint64_t next = done + bytes;
            if (next < piece.size)
                lanes_[(turn + 1) % 2]->toHost(from + next, partAt(piece, next));
            lane.wait();
            piece.store->write(piece.position + done, lane.first(bytes));
            done = next;
        }
    }

    void load(const device::ContentPiece& piece) {
        const std::uint64_t to = range_.address + piece.start;
        for (std::uint64_t done = 0, turn = 0; done < piece.size; ++turn) {
            checkStop_();
            Lane& lane = *lanes_[turn % 2];
            const std::uint64_t bytes = partAt(piece, done);
            lane.wait();  // waits for the last copy from this lane's buffer
            piece.store->read(piece.position + done, lane.first(bytes));
            lane.toDevice(to + done, bytes);
            done += bytes;
        }
        for (auto& lane : lanes_)
            lane->wait();
    }

    const Storage& storage_;
    const StoredRange range_;
    const device::Direction direction_;
    const std::uint64_t part_;
    const device::StopCheck checkStop_;
    const std::string fallback_;
    std::optional<Lane> lanes_[2];
};

}  // namespace

std::unique_ptr<Storage> Storage::open(const Api& api) {
    const std::optional<Calls> calls = findCalls(api);
    if (!calls)
        return nullptr;
    return std::unique_ptr<Storage>(new Storage(api, *calls));
}

Storage::Storage(const Api& api, const Calls& calls) : api_(api), calls_(calls) {
    api.require(api.initialize(), "start the CUDA driver");
    int count = 0;
    api.require(calls.deviceCount(&count), "count GPUs");
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        int device = 0;
        void* context = nullptr;
        api.require(calls.deviceGet(&device, ordinal), "look at a GPU");
        // The call fails for a GPU that another process uses exclusively. criu skips such a GPU, because the tree can't
        // use it either.
        if (calls.retainContext(&context, device) == kSuccess)
            retained_.push_back(device);
    }
}

Storage::~Storage() {
    for (const int device : retained_)
        (void)calls_.releaseContext(device);
}

StorageOperation::StorageOperation(const Storage& storage, pid_t pid, device::Direction direction,
                                   std::span<const GpuPair> pairs)
    : storage_(storage), pid_(pid) {
    const Api& api = storage.api();
    if (direction == device::Direction::Save) {
        CheckpointArguments arguments;
        arguments.storage = &info_;
        if (const int result = api.checkpoint(pid, &arguments); result != kSuccess)
            api.failed(result, fmt::format("reach what devices hold of process {}", pid));
    } else {
        RestoreArguments arguments;
        arguments.pairs = pairs.data();
        arguments.count = static_cast<std::uint32_t>(pairs.size());
        arguments.storage = &info_;
        if (const int result = api.restore(pid, &arguments); result != kSuccess)
            api.failed(result, fmt::format("make room on devices for what they held of process {}", pid));
    }
    for (const StorageDevice& each : std::span(info_->devices, info_->count)) {
        StoredRange& range = ranges_.emplace_back();
        range.address = each.address;
        range.bytes = each.bytes;
        void* green = nullptr;
        int device = 0;
        api.require(storage.calls().streamContext(each.stream, &range.context, &green), "find the GPU of contents");
        api.require(storage.calls().setContext(range.context), "use a GPU");
        api.require(storage.calls().contextDevice(&device), "find the GPU of contents");
        api.require(storage.calls().deviceUuid(&range.gpu, device), "find the UUID of a GPU");
    }
}

void StorageOperation::complete() {
    if (const int result = storage_.calls().complete(info_->handle); result != kSuccess)
        storage_.api().failed(result, fmt::format("end the copy of what devices hold of process {}", pid_));
}

std::string RangeContents::describe(std::uint32_t device) const {
    return formatUuid(ranges_.at(device).gpu);
}

std::unique_ptr<device::ContentCopier> RangeContents::makeCopier(std::uint32_t device, device::Direction direction,
                                                                 std::uint64_t bufferLimit,
                                                                 device::StopCheck checkStop) {
    return std::make_unique<RangeCopier>(storage_, ranges_.at(device), direction, bufferLimit, std::move(checkStop));
}

std::unique_ptr<device::FileContents> RangeContents::openContent(const ImageDir&, const std::string& file,
                                                                 std::uint64_t) {
    fail("{}: this driver has no files of its own form", file);
}

}  // namespace criu::cuda
