// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages_store.hpp"

#include <limits.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/pages_writer.hpp"
#include "criu/memory/read_targets.hpp"

namespace criu::memory {
namespace {

/// A file of an image directory.
class FileStore final : public PagesStore {
public:
    explicit FileStore(UniqueFd file) : file_(std::move(file)), writer_(file_.get()) {}

    void resize(std::uint64_t size) override {
        sys(::ftruncate(file_.get(), static_cast<off_t>(size)), "size a pages file to {} bytes", size);
    }

    void share() override { writer_.share(); }

    std::uint64_t write(std::uint64_t offset, std::span<const std::byte> pages) override {
        return writer_.write(offset, pages);
    }

    void writePieces(std::uint64_t offset, std::span<iovec> pieces) override {
        while (!pieces.empty()) {
            const auto count = static_cast<int>(std::min<std::size_t>(pieces.size(), IOV_MAX));
            const ssize_t done = ::pwritev(file_.get(), pieces.data(), count, static_cast<off_t>(offset));
            if (done < 0 && errno == EINTR)
                continue;
            sys(done, "write at {:#x} of the pages file", offset);
            offset += static_cast<std::uint64_t>(done);
            (void)takeFront(pieces, static_cast<std::uint64_t>(done));
        }
    }

private:
    UniqueFd file_;
    PagesWriter writer_;
};

}  // namespace

std::unique_ptr<PagesStore> createPagesStore(const ImageDir& images, std::uint32_t number) {
    return std::make_unique<FileStore>(images.createRaw(ImageKind::Pages, number));
}

}  // namespace criu::memory
