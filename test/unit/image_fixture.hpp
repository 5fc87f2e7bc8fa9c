// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"

namespace criu::test {

/// Empty directory for images; the destructor removes it with its content.
class TemporaryDir {
public:
    TemporaryDir() : path_((std::filesystem::temp_directory_path() / "criu-images-XXXXXX").string()) {
        if (::mkdtemp(path_.data()) == nullptr)
            failErrno("make directory {}", path_);
    }
    TemporaryDir(const TemporaryDir&) = delete;
    TemporaryDir& operator=(const TemporaryDir&) = delete;
    ~TemporaryDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] ImageDir images() const { return ImageDir::open(path_); }

private:
    std::string path_;
};

/// Bytes of an image, composed by hand.
class Bytes {
public:
    Bytes& word(std::uint32_t value) { return append(std::string_view(reinterpret_cast<const char*>(&value), 4)); }
    Bytes& append(std::string_view text) {
        content_ += text;
        return *this;
    }
    /// Appends a record: its size, then its encoding.
    Bytes& record(std::string_view encoding) {
        return word(static_cast<std::uint32_t>(encoding.size())).append(encoding);
    }
    template <Message T>
    Bytes& record(const T& message) {
        std::string encoding(encodedSize(message.base), '\0');
        ::protobuf_c_message_pack(&message.base, reinterpret_cast<std::uint8_t*>(encoding.data()));
        return record(encoding);
    }
    /// Returns both magic numbers of a kind.
    static Bytes headerOf(ImageKind kind) {
        Bytes bytes;
        if (imageInfo(kind).framing == Framing::Common)
            bytes.word(kCommonMagic);
        if (imageInfo(kind).framing == Framing::Service)
            bytes.word(kServiceMagic);
        if (imageInfo(kind).framing != Framing::Raw)
            bytes.word(imageInfo(kind).magic);
        return bytes;
    }

    /// Returns a file with these bytes, positioned at its start.
    [[nodiscard]] UniqueFd file() const {
        UniqueFd fd(sys(::memfd_create("image", MFD_CLOEXEC), "make a memfd"));
        sys(::pwrite(fd.get(), content_.data(), content_.size(), 0), "fill a memfd");
        return fd;
    }
    [[nodiscard]] const std::string& content() const noexcept { return content_; }
    [[nodiscard]] std::string& content() noexcept { return content_; }

private:
    std::string content_;
};

inline std::string contentOf(const std::string& path) {
    UniqueFd fd(sys(::open(path.c_str(), O_RDONLY | O_CLOEXEC), "open {}", path));
    std::string content(static_cast<std::size_t>(::lseek(fd.get(), 0, SEEK_END)), '\0');
    sys(::pread(fd.get(), content.data(), content.size(), 0), "read {}", path);
    return content;
}

/// Returns the text of the Error that `body` throws; "" if it throws none.
template <typename Body>
std::string errorOf(Body&& body) {
    try {
        body();
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

inline std::span<const std::byte> bytesOf(std::string_view text) {
    return std::as_bytes(std::span(text));
}

}  // namespace criu::test
