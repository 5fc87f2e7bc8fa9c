// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/codec.hpp"

#include <lz4.h>
#include <zstd.h>

#include <mutex>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/shared_library.hpp"

namespace criu::memory {
namespace {

[[noreturn]] void failDecompress() {
    fail("decompress memory content: it is damaged");
}

class Lz4 final : public Codec {
public:
    explicit Lz4(int acceleration) noexcept : acceleration_(acceleration) {}

    std::size_t compress(std::span<const std::byte> from, std::span<std::byte> to) const override {
        return static_cast<std::size_t>(compress_(reinterpret_cast<const char*>(from.data()),
                                                  reinterpret_cast<char*>(to.data()), static_cast<int>(from.size()),
                                                  static_cast<int>(to.size()), acceleration_));
    }

    void decompress(std::span<const std::byte> from, std::span<std::byte> to) const override {
        const int got = decompress_(reinterpret_cast<const char*>(from.data()), reinterpret_cast<char*>(to.data()),
                                    static_cast<int>(from.size()), static_cast<int>(to.size()));
        if (got < 0 || static_cast<std::size_t>(got) != to.size())
            failDecompress();
    }

private:
    const int acceleration_;
    SharedLibrary library_{"liblz4.so.1", "liblz4-1"};
    decltype(&::LZ4_compress_fast) compress_ = library_["LZ4_compress_fast"];
    decltype(&::LZ4_decompress_safe) decompress_ = library_["LZ4_decompress_safe"];
};

class Zstd final : public Codec {
public:
    explicit Zstd(int level) noexcept : level_(level) {}

    ~Zstd() override {
        for (ZSTD_CCtx* const each : compressing_.all)
            freeCompressing_(each);
        for (ZSTD_DCtx* const each : decompressing_.all)
            freeDecompressing_(each);
    }

    std::size_t compress(std::span<const std::byte> from, std::span<std::byte> to) const override {
        ZSTD_CCtx* const state = compressing_.take(makeCompressing_);
        const std::size_t got = compress_(state, to.data(), to.size(), from.data(), from.size(), level_);
        compressing_.putBack(state);
        return isError_(got) != 0 ? 0 : got;
    }

    void decompress(std::span<const std::byte> from, std::span<std::byte> to) const override {
        ZSTD_DCtx* const state = decompressing_.take(makeDecompressing_);
        const std::size_t got = decompress_(state, to.data(), to.size(), from.data(), from.size());
        decompressing_.putBack(state);
        if (isError_(got) != 0 || got != to.size())
            failDecompress();
    }

private:
    /// Pool of state objects of the compression library. Each concurrent thread uses one. They are kept, because
    /// creating a state takes longer than compressing a block.
    template <typename State>
    struct States {
        template <typename Make>
        State* take(Make make) {
            const std::lock_guard lock(mutex);
            if (!free.empty()) {
                State* const state = free.back();
                free.pop_back();
                return state;
            }
            all.reserve(all.size() + 1);
            free.reserve(all.size() + 1);
            State* const state = make();
            if (state == nullptr)
                failWith(ENOMEM, "prepare compression");
            all.push_back(state);
            return state;
        }
        void putBack(State* state) noexcept {
            const std::lock_guard lock(mutex);
            free.push_back(state);
        }

        std::mutex mutex;
        std::vector<State*> all;
        std::vector<State*> free;
    };

    const int level_;
    SharedLibrary library_{"libzstd.so.1", "libzstd1"};
    decltype(&::ZSTD_createCCtx) makeCompressing_ = library_["ZSTD_createCCtx"];
    decltype(&::ZSTD_freeCCtx) freeCompressing_ = library_["ZSTD_freeCCtx"];
    decltype(&::ZSTD_compressCCtx) compress_ = library_["ZSTD_compressCCtx"];
    decltype(&::ZSTD_createDCtx) makeDecompressing_ = library_["ZSTD_createDCtx"];
    decltype(&::ZSTD_freeDCtx) freeDecompressing_ = library_["ZSTD_freeDCtx"];
    decltype(&::ZSTD_decompressDCtx) decompress_ = library_["ZSTD_decompressDCtx"];
    decltype(&::ZSTD_isError) isError_ = library_["ZSTD_isError"];
    mutable States<ZSTD_CCtx> compressing_;
    mutable States<ZSTD_DCtx> decompressing_;
};

}  // namespace

std::unique_ptr<const Codec> Codec::load(model::PageCodec codec, int level) {
    switch (codec) {
        case model::PageCodec::None:
            break;
        case model::PageCodec::Lz4:
            return std::make_unique<Lz4>(level);
        case model::PageCodec::Zstd:
            return std::make_unique<Zstd>(level);
    }
    fail("pages are compressed in a way that this criu doesn't know: {}", static_cast<unsigned>(codec));
}

}  // namespace criu::memory
