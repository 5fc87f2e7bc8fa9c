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
#include <functional>
#include <optional>
#include <utility>

#include "criu/base/byte_stream.hpp"
#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu {
namespace {

using crypto::kKeySize;
using crypto::PublicKey;
using crypto::SecretBytes;
using crypto::SecretKey;

constexpr std::size_t kLargestFile = 1U << 20;

/// Converter from bits to bytes; the first bit becomes the highest bit of a byte.
class BitSink {
public:
    explicit BitSink(std::span<std::byte> into) noexcept : into_(into) {}
    ~BitSink() { ::explicit_bzero(&bits_, sizeof(bits_)); }
    BitSink(const BitSink&) = delete;
    BitSink& operator=(const BitSink&) = delete;

    /// Appends the lowest `count` bits of `value`. Returns false if the buffer is full.
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
    /// Returns true if the bits of the last incomplete byte are zeroes.
    [[nodiscard]] bool endsClean() const noexcept { return bits_ == 0; }

private:
    std::span<std::byte> into_;
    std::size_t size_ = 0;
    unsigned bits_ = 0;
    unsigned have_ = 0;
};

/// Checksum of Bech32 (BIP 173).
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

/// Decodes a key of age: Bech32 with a given prefix, in lower or upper case. Returns false if the text isn't such a
/// key.
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

constexpr std::string_view kBegin = "-----BEGIN ";
constexpr std::string_view kDashes = "-----";

// Kinds of keys, for messages.
constexpr std::string_view kRecipients =
    "a public key or a certificate in PEM (X25519, RSA, P-256, P-384 or P-521), or a public key of age (age1…)";
constexpr std::string_view kIdentities =
    "a secret key in PEM (X25519, RSA, P-256, P-384 or P-521), or one of age (AGE-SECRET-KEY-1…)";
constexpr std::string_view kSigner = "a secret key in PEM (Ed25519, Ed448, ECDSA or RSA)";
constexpr std::string_view kSigners = "public keys, certificates and revocation lists in PEM";

/// Removes a PEM block from `text` and returns it. `first`: first line of the block, which the caller has removed from
/// `text`; the result includes it.
std::string_view pemBlock(std::string_view first, std::string_view& text, std::string_view label) {
    const std::string end = fmt::format("-----END {}-----", label);
    const std::size_t at = text.find(end);
    if (at == std::string_view::npos)
        fail("a PEM block has no end");
    text.remove_prefix(at + end.size());
    (void)nextLine(text);
    return {first.data(), static_cast<std::size_t>(text.data() - first.data())};
}

constexpr bool isSecretLabel(std::string_view label) noexcept {
    return label == "PRIVATE KEY" || label == "RSA PRIVATE KEY" || label == "EC PRIVATE KEY";
}

/// Functions that forEachSection() calls for the parts of a text.
struct Sections {
    /// Receives the label and the decoded content of each PEM block.
    std::function<void(std::string_view label, crypto::Bytes der)> block;
    /// Receives each line that may be a key of age, and returns false if the line is invalid. If null, forEachSection()
    /// refuses such lines.
    std::function<bool(std::string_view line)> line;
    std::string_view accepted;  ///< kinds of keys that the caller accepts, for messages
};

/// Returns true for a line that begins like a key of age, even if the key is invalid.
bool isForAge(std::string_view line) noexcept {
    constexpr std::string_view kPrefix = "age";
    return std::equal(kPrefix.begin(), kPrefix.end(), line.begin(),
                      line.begin() + static_cast<std::ptrdiff_t>(std::min(line.size(), kPrefix.size())),
                      [](char a, char b) { return a == (b | 0x20); });
}

[[noreturn]] void refuseLine(std::string_view line, std::string_view accepted) {
    const bool isSsh = line.starts_with("ssh-") || line.starts_with("ecdsa-sha2-") || line.starts_with("sk-");
    fail("{}; accepted: {}", isSsh ? "it is a key of ssh" : "it isn't a key", accepted);
}

/// Calls `sections` for each part of a text. If the text has PEM blocks, text outside of them is a comment (RFC 7468,
/// 2). If the text has no PEM blocks, each line is a key.
void forEachSection(const crypto::X509& x509, std::string_view text, const Sections& sections) {
    const bool hasBlocks = text.starts_with(kBegin) || text.find(fmt::format("\n{}", kBegin)) != text.npos;
    const char* const start = text.data();
    while (!text.empty()) {
        const char* const at = text.data();
        const ErrorContext context([&] { return fmt::format("line {}", std::count(start, at, '\n') + 1); });
        const std::string_view line = nextLine(text);
        if (line.starts_with(kBegin) && line.ends_with(kDashes) && line.size() > kBegin.size() + kDashes.size()) {
            const std::string label(line.substr(kBegin.size(), line.size() - kBegin.size() - kDashes.size()));
            const std::string_view block = pemBlock(line, text, label);
            if (label == "ENCRYPTED PRIVATE KEY" || block.find("\nProc-Type: 4,ENCRYPTED") != block.npos)
                fail("the key needs a passphrase, and criu has no prompt for it; remove it with openssl pkey");
            if (label != "EC PARAMETERS") {
                const SecretBytes der = x509.decodePem(block, label);
                sections.block(label, der.bytes());
            }
        } else if (!line.empty() && line.front() != '#' && (!hasBlocks || isForAge(line))) {
            if (!sections.line || !sections.line(line))
                refuseLine(line, sections.accepted);
        }
    }
}

[[noreturn]] void unwanted(std::string_view what) {
    fail("a PEM block isn't {}", what);
}

/// Returns all keys of a text, at least one. `ofBlock` converts PEM blocks to keys; `ofAge` converts lines with age
/// keys that begin with `prefix`.
template <typename Key, typename OfBlock, typename OfAge>
std::vector<Key> keysIn(const crypto::X509& x509, std::string_view text, std::string_view prefix,
                        std::string_view accepted, const OfBlock& ofBlock, const OfAge& ofAge) {
    std::vector<Key> keys;
    const auto take = [&](std::string_view label, crypto::Bytes der) {
        if (std::optional<Key> key = ofBlock(label, der))
            keys.push_back(std::move(*key));
    };
    const auto takeLine = [&](std::string_view line) {
        SecretBytes raw(kKeySize);
        if (!decodeAge(line, prefix, raw.bytes()))
            return false;
        keys.push_back(ofAge(std::move(raw)));
        return true;
    };
    forEachSection(x509, text, {take, takeLine, accepted});
    if (keys.empty())
        fail("there is no key in it");
    return keys;
}

/// Reads a file or a pipe up to its end. Waits for the writer of a pipe. Sets `size` to the number of bytes.
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

/// Returns true if a regular file has a public key or a certificate, and no secret key.
bool isPublic(int file) {
    SecretBytes content(kLargestFile);
    const ssize_t size = ::pread(file, content.bytes().data(), content.bytes().size(), 0);
    const std::string_view text = textOf(content, size > 0 ? static_cast<std::size_t>(size) : 0);
    const auto has = [text](std::string_view word) { return text.find(word) != std::string_view::npos; };
    return (has("-----BEGIN PUBLIC KEY-----") || has("-----BEGIN CERTIFICATE-----") || text.starts_with("age1") ||
            text.starts_with("ssh-")) &&
           !has("PRIVATE KEY-----") && !has("AGE-SECRET-KEY-");
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
        if (isPublic(file))
            fail("the file has no secret key, but a public key or a certificate: a secret key is needed here");
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

template <typename Parse>
auto readPublic(const std::string& path, StopRequest& stop, const Parse& parse) {
    const ErrorContext context([&] { return path; });
    UniqueFd file(sys(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), "open it"));
    std::size_t size = 0;
    const SecretBytes content = readAll(std::move(file), size, stop);
    return parse(textOf(content, size));
}

template <typename Parse>
auto readSecret(const std::string& place, StopRequest& stop, const Parse& parse) {
    const ErrorContext context([&] { return place; });
    UniqueFd file = openPlace(place);
    requirePrivate(file.get());
    std::size_t size = 0;
    const SecretBytes content = readAll(std::move(file), size, stop);
    return parse(textOf(content, size));
}

}  // namespace

std::vector<PublicKey> parseRecipients(std::string_view text) {
    const crypto::X509 x509;
    const auto ofBlock = [&](std::string_view label, crypto::Bytes der) -> std::optional<PublicKey> {
        if (label == "PUBLIC KEY")
            return x509.recipientOf(der);
        if (label == "CERTIFICATE")
            return x509.recipientOf(x509.keyOf(der, crypto::KeyUse::Encryption));
        unwanted("a public key or a certificate (openssl pkey -in FILE -pubout prints the public key of a secret key)");
    };
    const auto ofAge = [](const SecretBytes& raw) {
        return PublicKey{crypto::KeyType::X25519, {raw.bytes().begin(), raw.bytes().end()}, {}};
    };
    return keysIn<PublicKey>(x509, text, "age", kRecipients, ofBlock, ofAge);
}

std::vector<SecretKey> parseIdentities(std::string_view text) {
    const crypto::X509 x509;
    const auto ofBlock = [&](std::string_view label, crypto::Bytes der) -> std::optional<SecretKey> {
        if (isSecretLabel(label))
            return x509.identityOf(der);
        if (label != "CERTIFICATE")
            unwanted("a secret key (the one that belongs to a public key given to --encrypt)");
        return std::nullopt;
    };
    const auto ofAge = [](SecretBytes&& raw) {
        PublicKey own = crypto::KeyAgreement().publicOf(raw.bytes());
        return SecretKey{std::move(own), std::move(raw)};
    };
    return keysIn<SecretKey>(x509, text, "AGE-SECRET-KEY-", kIdentities, ofBlock, ofAge);
}

Signer parseSigner(std::string_view text) {
    const crypto::X509 x509;
    Signer signer{SecretBytes(0), {}};
    crypto::Der own;
    const auto take = [&](std::string_view label, crypto::Bytes der) {
        if (label == "CERTIFICATE") {
            signer.certificates.emplace_back(der.begin(), der.end());
            return;
        }
        if (!isSecretLabel(label))
            unwanted("a secret key or a certificate");
        if (!own.empty())
            fail("it is another key, and one signs");
        own = x509.signerOfSecret(der);
        signer.key = SecretBytes(der.size());
        std::copy(der.begin(), der.end(), signer.key.bytes().begin());
    };
    forEachSection(x509, text, {take, nullptr, kSigner});
    if (own.empty())
        fail("there is no key in it");
    if (!signer.certificates.empty() && x509.keyOf(signer.certificates.front(), crypto::KeyUse::Signature) != own)
        fail("the first certificate is of another key");
    return signer;
}

Signers parseSigners(std::string_view text) {
    const crypto::X509 x509;
    Signers signers;
    const auto take = [&](std::string_view label, crypto::Bytes der) {
        if (label == "PUBLIC KEY")
            signers.keys.push_back(x509.signerOf(der));
        else if (label == "CERTIFICATE")
            signers.certificates.emplace_back(der.begin(), der.end());
        else if (label == "X509 CRL")
            signers.revocations.emplace_back(der.begin(), der.end());
        else
            unwanted("a public key, a certificate or a revocation list");
    };
    forEachSection(x509, text, {take, nullptr, kSigners});
    if (signers.empty())
        fail("there is no key in it");
    return signers;
}

std::vector<PublicKey> readRecipients(const std::string& path, StopRequest& stop) {
    return readPublic(path, stop, parseRecipients);
}

Signers readSigners(const std::string& path, StopRequest& stop) {
    return readPublic(path, stop, parseSigners);
}

std::vector<SecretKey> readIdentities(const std::string& place, StopRequest& stop) {
    return readSecret(place, stop, parseIdentities);
}

Signer readSigner(const std::string& place, StopRequest& stop) {
    return readSecret(place, stop, parseSigner);
}

}  // namespace criu
