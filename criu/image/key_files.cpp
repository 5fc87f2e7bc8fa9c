// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/key_files.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>

#include "criu/base/byte_stream.hpp"
#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu {
namespace {

using crypto::kKeySize;
using crypto::PublicKey;
using crypto::SecretBytes;

constexpr std::size_t kLargestFile = 64U << 10;

/// What precedes the 32 bytes of a key in the DER form of PKCS #8 (secret) and of SubjectPublicKeyInfo (public); the
/// byte that tells both curves apart is zero here.
constexpr std::array<unsigned char, 16> kSecretForm{0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                                    0x03, 0x2b, 0x65, 0x00, 0x04, 0x22, 0x04, 0x20};
constexpr std::array<unsigned char, 12> kPublicForm{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                                    0x2b, 0x65, 0x00, 0x03, 0x21, 0x00};
constexpr std::size_t kCurveInSecret = 11;
constexpr std::size_t kCurveInPublic = 8;

constexpr unsigned char curveOf(KeyKind kind) noexcept {
    constexpr unsigned char kX25519 = 0x6e;
    constexpr unsigned char kEd25519 = 0x70;
    return kind == KeyKind::Encryption ? kX25519 : kEd25519;
}

constexpr std::string_view nameOf(KeyKind kind) noexcept {
    return kind == KeyKind::Encryption ? "X25519" : "Ed25519";
}

/// Collects bits from the highest on, and puts out bytes.
class BitSink {
public:
    explicit BitSink(std::span<std::byte> into) noexcept : into_(into) {}
    ~BitSink() { ::explicit_bzero(&bits_, sizeof(bits_)); }
    BitSink(const BitSink&) = delete;
    BitSink& operator=(const BitSink&) = delete;

    /// False if there is no room for more.
    bool add(unsigned value, unsigned count) noexcept {
        constexpr unsigned kByte = 8;
        bits_ = bits_ << count | value;
        have_ += count;
        if (have_ < kByte)
            return true;
        if (size_ == into_.size())
            return false;
        have_ -= kByte;
        into_[size_++] = static_cast<std::byte>(bits_ >> have_);
        bits_ &= (1U << have_) - 1;
        return true;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// What is left over has to be zeroes.
    [[nodiscard]] bool endsClean() const noexcept { return bits_ == 0; }

private:
    std::span<std::byte> into_;
    std::size_t size_ = 0;
    unsigned bits_ = 0;
    unsigned have_ = 0;
};

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes that base64 stands for, line ends in it passed over; nothing if it isn't that, or too much.
std::optional<std::size_t> decodeBase64(std::string_view text, std::span<std::byte> into) {
    BitSink bits(into);
    bool ended = false;
    for (const char c : text) {
        if (c == '\n' || c == '\r')
            continue;
        if (c == '=') {
            ended = true;
            continue;
        }
        const std::size_t value = kBase64.find(c);
        if (ended || value == std::string_view::npos || !bits.add(static_cast<unsigned>(value), 6))
            return std::nullopt;
    }
    return bits.size();
}

/// The checksum of Bech32 (BIP 173), step by step.
class Bech32Sum {
public:
    void add(unsigned value) noexcept {
        constexpr std::uint32_t kGenerator[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
        const std::uint32_t top = sum_ >> 25;
        sum_ = (sum_ & 0x1ffffff) << 5 ^ value;
        for (unsigned bit = 0; bit < std::size(kGenerator); ++bit)
            if ((top >> bit & 1) != 0)
                sum_ ^= kGenerator[bit];
    }
    [[nodiscard]] bool good() const noexcept { return sum_ == 1; }

private:
    std::uint32_t sum_ = 1;
};

/// A key that age writes in Bech32 with this prefix, all letters small or all large. False if it isn't one.
bool decodeAge(std::string_view text, std::string_view prefix, std::span<std::byte> key) {
    constexpr std::string_view kSmall = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    constexpr std::string_view kLarge = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
    constexpr std::size_t kChecksum = 6;
    constexpr std::size_t kDigits = (kKeySize * 8 + 4) / 5;
    if (!text.starts_with(prefix) || text.size() != prefix.size() + 1 + kDigits + kChecksum ||
        text[prefix.size()] != '1')
        return false;
    const std::string_view alphabet = prefix.front() >= 'a' ? kSmall : kLarge;
    Bech32Sum sum;
    const auto lowered = [](char c) { return static_cast<unsigned>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); };
    for (const char c : prefix)
        sum.add(lowered(c) >> 5);
    sum.add(0);
    for (const char c : prefix)
        sum.add(lowered(c) & 31);
    BitSink bits(key);
    const std::string_view digits = text.substr(prefix.size() + 1);
    for (std::size_t i = 0; i < digits.size(); ++i) {
        const std::size_t value = alphabet.find(digits[i]);
        if (value == std::string_view::npos)
            return false;
        sum.add(static_cast<unsigned>(value));
        if (i < kDigits && !bits.add(static_cast<unsigned>(value), 5))
            return false;
    }
    return sum.good() && bits.size() == kKeySize && bits.endsClean();
}

std::string_view nextLine(std::string_view& text) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
        line.remove_suffix(1);
    return line;
}

/// What a PEM block has between its first line, which was read, and its last one.
std::string_view pemBody(std::string_view& text, std::string_view label) {
    const std::string end = fmt::format("-----END {}-----", label);
    const std::size_t at = text.find(end);
    if (at == std::string_view::npos)
        fail("a PEM block has no end");
    const std::string_view body = text.substr(0, at);
    text.remove_prefix(at);
    (void)nextLine(text);
    return body;
}

/// Takes a key out of its DER form.
template <std::size_t Prefix>
void takeKey(std::string_view body, std::array<unsigned char, Prefix> form, std::size_t curve, KeyKind kind,
             std::span<std::byte> key) {
    form[curve] = curveOf(kind);
    const SecretBytes der(Prefix + kKeySize);
    const auto size = decodeBase64(body, der.bytes());
    if (size != der.bytes().size() || ::memcmp(der.bytes().data(), form.data(), Prefix) != 0)
        fail("a PEM block isn't an {} key, unencrypted", nameOf(kind));
    std::copy_n(der.bytes().begin() + Prefix, kKeySize, key.begin());
}

/// Calls `add(key)` for each key in a text. Takes secret keys or public ones.
template <typename Add>
void forEachKey(std::string_view text, KeyKind kind, bool secret, const Add& add) {
    const std::string_view label = secret ? "PRIVATE KEY" : "PUBLIC KEY";
    const std::string_view age = secret ? "AGE-SECRET-KEY-" : "age";
    const std::string begin = fmt::format("-----BEGIN {}-----", label);
    const SecretBytes key(kKeySize);
    bool any = false;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = nextLine(text);
        if (line.empty() || line.front() == '#')
            continue;
        if (line == begin) {
            const std::string_view body = pemBody(text, label);
            if (secret)
                takeKey(body, kSecretForm, kCurveInSecret, kind, key.bytes());
            else
                takeKey(body, kPublicForm, kCurveInPublic, kind, key.bytes());
        } else if (kind != KeyKind::Encryption || !decodeAge(line, age, key.bytes())) {
            fail("line {} isn't {} {} key", number, secret ? "a secret" : "a public", nameOf(kind));
        }
        add(crypto::Bytes(key.bytes()));
        any = true;
    }
    if (!any)
        fail("there is no key in it");
}

/// Reads all of it. Whoever writes into a pipe is waited for.
SecretBytes readAll(UniqueFd file, std::size_t& size, StopRequest& stop) {
    constexpr std::chrono::seconds kPatience{30};
    SecretBytes content(kLargestFile + 1);
    ByteStream in(std::move(file), stop, kPatience, "it");
    size = in.read(content.bytes());
    if (size > kLargestFile)
        fail("it has more than {} bytes", kLargestFile);
    return content;
}

std::string_view textOf(const SecretBytes& content, std::size_t size) noexcept {
    return {reinterpret_cast<const char*>(content.bytes().data()), size};
}

void requirePrivate(int file) {
    struct stat status {};
    sys(::fstat(file, &status), "look at it");
    if (S_ISDIR(status.st_mode))
        failWith(EISDIR, "read keys");
    if (!S_ISREG(status.st_mode))
        return;
    if (status.st_uid != 0 && status.st_uid != ::geteuid())
        fail("the file belongs to user {}", status.st_uid);
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        Error error(0, fmt::format("others may use the file (mode {:#o})", status.st_mode & 07777));
        error.addHint("a secret key is for its owner only: chmod 600");
        throw error;
    }
}

UniqueFd openPlace(const std::string& place) {
    if (place.find_first_not_of("0123456789") != std::string::npos)
        return UniqueFd(sys(::open(place.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), "open it"));
    int number = -1;
    std::from_chars(place.data(), place.data() + place.size(), number);
    return UniqueFd(sys(::fcntl(number, F_DUPFD_CLOEXEC, 3), "use descriptor {}", place));
}

}  // namespace

std::vector<PublicKey> parsePublicKeys(std::string_view text, KeyKind kind) {
    std::vector<PublicKey> keys;
    forEachKey(text, kind, false,
               [&](crypto::Bytes key) { std::copy_n(key.begin(), kKeySize, keys.emplace_back().begin()); });
    return keys;
}

std::vector<SecretBytes> parseSecretKeys(std::string_view text, KeyKind kind) {
    std::vector<SecretBytes> keys;
    forEachKey(text, kind, true, [&](crypto::Bytes key) {
        std::copy_n(key.begin(), kKeySize, keys.emplace_back(kKeySize).bytes().begin());
    });
    return keys;
}

std::vector<PublicKey> readPublicKeys(const std::string& path, KeyKind kind, StopRequest& stop) {
    const ErrorContext context([&] { return path; });
    UniqueFd file(sys(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), "open it"));
    std::size_t size = 0;
    const SecretBytes content = readAll(std::move(file), size, stop);
    return parsePublicKeys(textOf(content, size), kind);
}

std::vector<SecretBytes> readSecretKeys(const std::string& place, KeyKind kind, StopRequest& stop) {
    const ErrorContext context([&] { return place; });
    UniqueFd file = openPlace(place);
    requirePrivate(file.get());
    std::size_t size = 0;
    const SecretBytes content = readAll(std::move(file), size, stop);
    return parseSecretKeys(textOf(content, size), kind);
}

}  // namespace criu
