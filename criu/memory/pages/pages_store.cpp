// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/pages_store.hpp"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/sequenced_execution.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/image_outlet.hpp"
#include "criu/memory/pages/pages_writer.hpp"
#include "criu/memory/pages/read_targets.hpp"

namespace criu::memory {
namespace {

/// Pages file in an images directory.
class FileStore final : public PagesStore {
public:
    FileStore(UniqueFd file, std::string name) : name_(std::move(name)), file_(std::move(file)), writer_(file_.get()) {}

    void resize(std::uint64_t size) override {
        sys(::ftruncate(file_.get(), static_cast<off_t>(size)), "{}: size to {} bytes", name_, size);
    }

    void share() override { writer_.share(); }

    std::uint64_t write(std::uint64_t offset, std::span<const std::byte> pages) override {
        const ErrorContext context([this] { return name_; });
        return writer_.write(offset, pages);
    }

    void writePieces(std::uint64_t offset, std::span<iovec> pieces) override {
        while (!pieces.empty()) {
            const auto count = static_cast<int>(std::min<std::size_t>(pieces.size(), IOV_MAX));
            const ssize_t done = ::pwritev(file_.get(), pieces.data(), count, static_cast<off_t>(offset));
            if (done < 0 && (errno == EINTR || endDirectIo(file_.get())))
                continue;
            sys(done, "{}: write at {:#x}", name_, offset);
            offset += static_cast<std::uint64_t>(done);
            (void)takeFront(pieces, static_cast<std::uint64_t>(done));
        }
    }

    void finish() override { closeWritten(std::move(file_), name_); }

private:
    const std::string name_;
    UniqueFd file_;
    PagesWriter writer_;
};

/// Pages file in an image outlet, which gets the pages while the dump writes.
class OutletStore final : public PagesStore {
public:
    OutletStore(ImageOutlet& outlet, const std::string& name)
        : file_(outlet.create(name)), inOrder_(outlet.inOrder()) {}

    void resize(std::uint64_t size) override {
        const std::lock_guard lock(mutex_);
        size_ = std::max(size_, size);
    }

    std::uint64_t write(std::uint64_t offset, std::span<const std::byte> pages) override {
        if (!inOrder_)
            return forEachNonZero(
                pages, [&](std::size_t at, std::span<const std::byte> run) { file_->write(offset + at, run); });
        turns_.run(offset, pages.size(), [&] { file_->write(offset, pages); });
        return 0;
    }

    void writePieces(std::uint64_t offset, std::span<iovec> pieces) override {
        const std::uint64_t size = sizeOf(pieces);
        const auto writeAll = [&] {
            std::uint64_t at = offset;
            for (const iovec& piece : pieces) {
                file_->write(at, {static_cast<const std::byte*>(piece.iov_base), piece.iov_len});
                at += piece.iov_len;
            }
        };
        resize(offset + size);
        if (inOrder_)
            turns_.run(offset, size, writeAll);
        else
            writeAll();
    }

    void finish() override { file_->finish(size_); }

    void abandon() noexcept override { turns_.abandon(); }

private:
    const std::unique_ptr<ImageOutlet::File> file_;
    const bool inOrder_;
    SequencedExecution turns_;  ///< makes threads write in ascending order of offsets
    std::mutex mutex_;
    std::uint64_t size_ = 0;
};

}  // namespace

std::unique_ptr<PagesStore> createPagesStore(const ImageDir& images, std::uint32_t number) {
    if (images.outlet() != nullptr)
        return std::make_unique<OutletStore>(*images.outlet(), imageName(ImageKind::Pages, number));
    UniqueFd file = images.createRaw(ImageKind::Pages, number);
    if (images.directIo())
        useDirectIo(file.get());
    return std::make_unique<FileStore>(std::move(file),
                                       fmt::format("{}/{}", images.name(), imageName(ImageKind::Pages, number)));
}

}  // namespace criu::memory
