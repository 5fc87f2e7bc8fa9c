// SPDX-License-Identifier: GPL-2.0-only
// Encrypted and signed images: every change of them is found, and only recipients read them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "criu/base/crypto.hpp"
#include "criu/base/error.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/image/directory_outlet.hpp"
#include "criu/image/encrypted_format.hpp"
#include "criu/image/encrypting_outlet.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/key_files.hpp"
#include "criu/image/signature.hpp"
#include "image_fixture.hpp"
#include "images/encryption.hpp"
#include "pki.hpp"

using Catch::Contains;
using namespace criu;
namespace pki = criu::test::pki;
using criu::test::errorOf;
using criu::test::TemporaryDir;

namespace {

namespace fs = std::filesystem;

const std::function<void()> kGoOn = [] {};

std::string contentOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

void write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

std::span<const std::byte> bytesOf(const std::string& text) {
    return std::as_bytes(std::span(text));
}

/// A new X25519 key.
crypto::SecretKey newIdentity() {
    crypto::SecretKey key{{}, crypto::SecretBytes(crypto::kKeySize)};
    crypto::randomize(key.secret.bytes());
    key.own = crypto::KeyAgreement().publicOf(key.secret.bytes());
    return key;
}

/// Images encrypted for keys: a small file, a large one with holes, and one that is empty.
void dumpFor(TemporaryDir& into, const std::vector<crypto::PublicKey>& recipients, const std::string& large) {
    const ImageDir directory = into.images();
    EncryptingOutlet out(std::make_unique<DirectoryOutlet>(directory), recipients);
    const auto small = out.create("fs-7.img");
    const auto pages = out.create("pages-1.img");
    out.create("empty.img")->finish(0);
    pages->write(2'000'000, bytesOf(large).subspan(2'000'000, 500'000));
    small->write(0, bytesOf("something that nobody is to read"));
    pages->write(1U << 20, bytesOf(large).subspan(1U << 20, 2'000'000 - (1U << 20)));
    small->finish(32);
    pages->finish(large.size());
    out.finish();
}

/// A recipient, and images for it.
struct Encrypted {
    Encrypted() {
        identities.push_back(newIdentity());
        large.resize(5U << 20, '\0');
        for (std::size_t i = 1U << 20; i < 2'500'000; ++i)
            large[i] = static_cast<char>(i * i >> 7);
        dump(images);
    }

    void dump(TemporaryDir& into) const { dumpFor(into, {identities.front().own}, large); }

    [[nodiscard]] std::string path(const std::string& name) { return images.path() + "/" + name; }

    /// What decryption says is wrong.
    std::string damage(const std::vector<crypto::SecretKey>& keys) {
        TemporaryDir target;
        const ImageDir from = images.images();
        const ImageDir to = target.images();
        return errorOf([&] { decryptImages(from, DumpKey(from, keys), &to, kGoOn); });
    }
    std::string damage() { return damage(identities); }

    TemporaryDir images;
    std::vector<crypto::SecretKey> identities;
    std::string large;
};

/// A key pair as `openssl genpkey -algorithm X25519` writes it.
constexpr const char* kSecretPem =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VuBCIEIHcHbQpzGKV9PBbBclGyZkXfTC+H68CZKsF3+6UduSwq\n"
    "-----END PRIVATE KEY-----\n";
constexpr const char* kPublicPem =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VuAyEAKVPpfcoSKfl8YAvsLBf+6qs1zkvt9msdQvFqRJ3FwF8=\n"
    "-----END PUBLIC KEY-----\n";

/// As `openssl genpkey -algorithm ED25519` writes it.
constexpr const char* kSignerPem =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIPD2klfRtCjh1bQC7OPA0A/K2FNr3y5aAfwLc+eV2uxm\n"
    "-----END PRIVATE KEY-----\n";
constexpr const char* kSignerPublicPem =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAI7IAwNyDHlz8qmrXgFCshJAdo0GyQp5PrdLFreq2G5Y=\n"
    "-----END PUBLIC KEY-----\n";

/// The same pair as the first in age's form.
constexpr const char* kAgePublic = "age199f7jlw2zg5ljlrqp0kzc9l7a24ntnjtahmxk82z794yf8w9cp0se4ecc7";
constexpr const char* kAgeSecret = "AGE-SECRET-KEY-1WURK6ZNNRZJH60QKC9E9RVNXGH05CTU8A0QFJ2KPWLA628DE9S4QF64P89";

}  // namespace

TEST_CASE("encrypted images are what they were when a recipient decrypts them, and nothing of them shows") {
    Encrypted dump;
    TemporaryDir target;
    const ImageDir from = dump.images.images();
    CHECK(areEncrypted(from));
    const ImageDir to = target.images();
    const DecryptedAmounts amounts = decryptImages(from, DumpKey(from, dump.identities), &to, kGoOn);
    CHECK(amounts.files == 3);
    CHECK(contentOf(target.path() + "/fs-7.img") == "something that nobody is to read");
    CHECK(contentOf(target.path() + "/pages-1.img") == dump.large);
    CHECK(contentOf(target.path() + "/empty.img").empty());
    for (const auto& entry : fs::directory_iterator(dump.images.path())) {
        const std::string content = contentOf(entry.path());
        CHECK(content.find("nobody is to read") == std::string::npos);
        CHECK(content.find("pages-1") == std::string::npos);
    }
}

TEST_CASE("every byte of encrypted images counts") {
    Encrypted dump;
    const auto name = GENERATE(as<std::string>(), "encryption.img", "encrypted-0.img", "encrypted-1.img",
                               "encrypted-2.img", "encrypted-3.img");
    const std::string path = dump.path(name);
    const std::string whole = contentOf(path);
    const std::size_t step = std::max<std::size_t>(whole.size() / 40, 1);
    for (std::size_t at = 0; at < whole.size(); at += step) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 4);
        write(path, changed);
        CAPTURE(name, at);
        CHECK_THAT(dump.damage(), Contains(name == "encryption.img" ? "" : name) && !Catch::Matchers::Equals(""));
    }
    for (const std::size_t size : {std::size_t{0}, std::size_t{4}, whole.size() - 1}) {
        write(path, whole.substr(0, size));
        CHECK_FALSE(dump.damage().empty());
    }
    write(path, whole + "x");
    CHECK_FALSE(dump.damage().empty());
    write(path, whole);
    CHECK(dump.damage().empty());
}

TEST_CASE("files of encrypted images can't be removed, added, exchanged or taken from another dump") {
    Encrypted dump;
    TemporaryDir other;
    dump.dump(other);  // the same content for the same recipient
    SECTION("removed") {
        REQUIRE(::unlink(dump.path("encrypted-2.img").c_str()) == 0);
        CHECK_THAT(dump.damage(), Contains("encrypted-2.img (pages-1.img)"));
    }
    SECTION("added") {
        const auto name = GENERATE(as<std::string>(), "encrypted-4.img", "pages-1.img");
        write(dump.path(name), "x");
        CHECK_THAT(dump.damage(), Contains(name + ": it isn't of this dump"));
    }
    SECTION("what criu cpuinfo dump has written there") {
        write(dump.path("cpuinfo.img"), "x");
        CHECK(dump.damage().empty());
    }
    SECTION("exchanged") {
        fs::rename(dump.path("encrypted-1.img"), dump.path("x"));
        fs::rename(dump.path("encrypted-2.img"), dump.path("encrypted-1.img"));
        fs::rename(dump.path("x"), dump.path("encrypted-2.img"));
        CHECK_THAT(dump.damage(), Contains("bytes, but"));
    }
    SECTION("of another dump") {
        const auto name =
            GENERATE(as<std::string>(), "encryption.img", "encrypted-0.img", "encrypted-1.img", "encrypted-2.img");
        fs::copy_file(other.path() + "/" + name, dump.path(name), fs::copy_options::overwrite_existing);
        CHECK_THAT(dump.damage(), Contains("of another dump"));
    }
    SECTION("blocks of one file exchanged") {
        std::string content = contentOf(dump.path("encrypted-2.img"));
        constexpr std::size_t kBlock = 500'016;
        std::swap_ranges(content.begin() + 8, content.begin() + 8 + kBlock,
                         content.begin() + 8 + static_cast<std::ptrdiff_t>(content.size() - 8 - kBlock));
        write(dump.path("encrypted-2.img"), content);
        // Threads decrypt both of them, and one is the first to say so.
        CHECK_THAT(dump.damage(),
                   Contains("encrypted-2.img") && Contains("bytes at offset ") && Contains("aren't what was written"));
    }
    SECTION("for others") {
        std::vector<crypto::SecretKey> stranger;
        stranger.push_back(newIdentity());
        CHECK_THAT(dump.damage(stranger), Contains("for none of the keys given"));
        CHECK_THAT(dump.damage({}), Contains("for none of the keys given"));
    }
}

TEST_CASE("a list of encrypted files that a recipient's public key has made isn't trusted") {
    Encrypted dump;
    const ImageDir from = dump.images.images();
    const DumpKey key(from, dump.identities);
    // Entry of pages-1.img: its size, and places and sizes of its blocks.
    const auto listed = [&](std::uint64_t size, std::vector<std::uint64_t> offsets, std::vector<std::uint32_t> sizes,
                            std::string name = "pages-1.img") {
        EncryptedFileEntry entry = ENCRYPTED_FILE_ENTRY__INIT;
        entry.name = name.data();
        entry.size = size;
        entry.n_offsets = offsets.size();
        entry.offsets = offsets.data();
        entry.n_sizes = sizes.size();
        entry.sizes = sizes.data();
        const std::vector<std::byte> list = imageOf(ImageKind::Encrypted, entry.base);
        std::string file(8 + list.size() + crypto::kTagSize, '\0');
        const auto sealed = std::as_writable_bytes(std::span(file));
        const auto head = encrypted::head();
        std::copy(head.begin(), head.end(), sealed.begin());
        key.ciphers().seal(key.ofFile(encrypted::kListFile).bytes(), {0, encrypted::kLastOfList}, {}, list,
                           sealed.subspan(head.size()));
        write(dump.path("encrypted-0.img"), file);
        return dump.damage();
    };
    constexpr std::uint32_t kBlock = 1U << 20;
    CHECK_THAT(listed(10, {0, 5}, {6, 5}), Contains("pages-1.img: two blocks are at 0x5"));
    CHECK_THAT(listed(10, {5, 0}, {5, 6}), Contains("pages-1.img: two blocks are at 0x5"));
    CHECK_THAT(listed(10, {3, 3}, {1, 1}), Contains("pages-1.img: two blocks are at 0x3"));
    CHECK_THAT(listed(10, {0, 5}, {5}), Contains("2 blocks have a place, and 1 a size"));
    CHECK_THAT(listed(10, {8}, {3}), Contains("a block of 3 bytes is at 0x8 of 10"));
    CHECK_THAT(listed(10, {~0ULL}, {1}), Contains("a block of 1 bytes"));
    CHECK_THAT(listed(10, {0}, {0}), Contains("a block of 0 bytes"));
    CHECK_THAT(listed(kBlock * 2, {0}, {kBlock + 1}), Contains("a block of 1048577 bytes"));
    CHECK_THAT(listed(~0ULL, {}, {}), Contains("bytes are more than a file has"));
    for (const char* name : {"../pages-1.img", "/etc/x.img", "parent", "", ".img", "pages-1"})
        CHECK_THAT(listed(0, {}, {}, name), Contains("is no name of an image"));
}

TEST_CASE("a list of encrypted files that was cut where one of its pieces ends isn't taken for a whole one") {
    TemporaryDir folder;
    const ImageDir directory = folder.images();
    std::vector<crypto::SecretKey> identities;
    identities.push_back(newIdentity());
    {
        EncryptingOutlet out(std::make_unique<DirectoryOutlet>(directory), {identities.front().own});
        const auto file = out.create("pages-1.img");
        // Each block takes 8 bytes in the list: 7 of its place, 1 of its size.
        constexpr std::uint64_t kFar = std::uint64_t{1} << 43;
        constexpr std::uint64_t kBlocks = kEncryptedBlock / 8 + 1;
        for (std::uint64_t i = 0; i < kBlocks; ++i)
            file->write(kFar + i, bytesOf("x"));
        file->finish(kFar + kBlocks);
        out.finish();
    }
    const std::string path = folder.path() + "/encrypted-0.img";
    const std::string whole = contentOf(path);
    constexpr std::size_t kFirst = 8 + kEncryptedBlock + crypto::kTagSize;
    REQUIRE(whole.size() > kFirst);
    const DumpKey key(directory, identities);
    const auto damage = [&] { return errorOf([&] { decryptImages(directory, key, nullptr, kGoOn); }); };
    CHECK(damage().empty());
    write(path, whole.substr(0, kFirst));
    CHECK_THAT(damage(), Contains("encrypted-0.img: the 1048592 bytes at offset 0x8 aren't what was written"));
    write(path, whole.substr(0, 8) + whole.substr(kFirst));
    CHECK_THAT(damage(), Contains("encrypted-0.img") && Contains("aren't what was written"));
    write(path, whole + whole.substr(kFirst));
    CHECK_THAT(damage(), Contains("encrypted-0.img") && Contains("aren't what was written"));
}

TEST_CASE("a head of encrypted images that nobody has made is refused") {
    Encrypted dump;
    const ImageDir from = dump.images.images();
    std::vector<std::uint8_t> zeroes(4096);
    const auto refused = [&](std::size_t id, std::size_t recipients, std::size_t share, std::size_t wrapped,
                             std::size_t mac, std::uint32_t version = 1, std::uint32_t kind = 0) {
        EncryptionRecipient one = ENCRYPTION_RECIPIENT__INIT;
        one.share = {share, zeroes.data()};
        one.wrapped = {wrapped, zeroes.data()};
        one.has_kind = 1;
        one.kind = kind;
        std::vector<EncryptionRecipient*> all(recipients, &one);
        EncryptionHead head = ENCRYPTION_HEAD__INIT;
        head.version = version;
        head.id = {id, zeroes.data()};
        head.n_recipients = all.size();
        head.recipients = all.data();
        head.mac = {mac, zeroes.data()};
        const std::vector<std::byte> image = imageOf(ImageKind::Encryption, head.base);
        write(dump.path("encryption.img"), std::string(reinterpret_cast<const char*>(image.data()), image.size()));
        return errorOf([&] { (void)DumpKey(from, dump.identities); });
    };
    CHECK_THAT(refused(16, 1, 32, 48, 32), Contains("encryption.img: a public key is one that has no secret"));
    CHECK_THAT(refused(16, 0, 32, 48, 32), Contains("encryption.img") && Contains("for none of the keys given"));
    CHECK_THAT(refused(15, 1, 32, 48, 32), Contains("its id has 15 bytes instead of 16"));
    CHECK_THAT(refused(16, 1, 33, 48, 32), Contains("its share has 33 bytes"));
    CHECK_THAT(refused(16, 1, 32, 0, 32), Contains("its wrapped key has 0 bytes"));
    CHECK_THAT(refused(16, 1, 32, 48, 64), Contains("its MAC has 64 bytes"));
    CHECK_THAT(refused(16, 257, 32, 48, 32), Contains("it has 257 recipients"));
    CHECK_THAT(refused(16, 1, 32, 48, 32, 3), Contains("in a way that this criu doesn't know: 3"));
    CHECK_THAT(refused(16, 1, 65, 48, 32, 1, 1), Contains("its share has 65 bytes"));
    CHECK_THAT(refused(16, 1, 65, 48, 32, 2, 5), Contains("a key of a kind that this criu doesn't know: 5"));
    for (const auto& [kind, size] : std::vector<std::pair<std::uint32_t, std::size_t>>{
             {0, 31}, {1, 64}, {2, 65}, {3, 0}, {4, 255}, {4, 2049}, {4, 0}})
        CHECK_THAT(refused(16, 1, size, 48, 32, 2, kind), Contains(fmt::format("its share has {} bytes", size)));
    // Points that aren't on their curve, and a number that nobody has encrypted.
    dump.identities =
        parseIdentities(std::string(pki::kP256Secret) + pki::kP384Secret + pki::kP521Secret + pki::kRsaSecret);
    for (const auto& [kind, size] :
         std::vector<std::pair<std::uint32_t, std::size_t>>{{1, 65}, {2, 97}, {3, 133}, {4, 256}})
        for (const std::uint8_t first : {std::uint8_t{0}, std::uint8_t{4}}) {
            zeroes.front() = first;
            zeroes[size - 1] = first;
            CHECK_THAT(refused(16, 1, size, 48, 32, 2, kind), Contains("for none of the keys given"));
        }
}

TEST_CASE("no dump has a key or an id of another one, whoever it is for") {
    Encrypted dump;
    TemporaryDir other;
    dump.dump(other);
    for (const char* name : {"encryption.img", "encrypted-0.img", "encrypted-1.img", "encrypted-2.img"}) {
        const std::string one = contentOf(dump.path(name));
        const std::string two = contentOf(other.path() + "/" + name);
        CAPTURE(name);
        REQUIRE(one.size() > 40);
        // The content is the same; with a key and nonce that were used twice the bytes would be, too.
        CHECK(one.substr(8, 32) != two.substr(8, 32));
        CHECK(one.substr(one.size() - 16) != two.substr(two.size() - 16));
    }
}

TEST_CASE("an encryption that fails leaves nothing") {
    TemporaryDir folder;
    const ImageDir directory = folder.images();
    {
        EncryptingOutlet out(std::make_unique<DirectoryOutlet>(directory), {newIdentity().own});
        const auto file = out.create("pages-1.img");
        file->write(0, bytesOf("x"));
        CHECK_THAT(errorOf([&] { out.finish(); }), Contains("pages-1.img is incomplete"));
    }
    CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("signed images are all there, unchanged, and by the right signer") {
    Encrypted dump;
    const auto [secret, good] = GENERATE(table<const char*, Signers>({
        {kSignerPem, parseSigners(std::string(pki::kRsaPublic) + kSignerPublicPem)},
        {pki::kSignerSecret, parseSigners(pki::kSignerPublic)},
    }));
    const ImageDir images = dump.images.images();
    const auto problem = [&](const Signers& by) { return errorOf([&] { requireSigned(images, by, nullptr, kGoOn); }); };
    CHECK_THAT(problem(good), Contains("aren't signed"));
    signImages(images, parseSigner(secret), std::nullopt, kGoOn);
    CHECK(problem(good).empty());
    CHECK_THAT(problem(parseSigners(pki::kRsaPublic)), Contains("by somebody else"));
    SECTION("changed") {
        std::string content = contentOf(dump.path("encrypted-2.img"));
        content[1'100'000] = static_cast<char>(content[1'100'000] ^ 1);
        write(dump.path("encrypted-2.img"), content);
        CHECK_THAT(problem(good), Contains("encrypted-2.img: the piece at offset 0x100000"));
    }
    SECTION("truncated") {
        fs::resize_file(dump.path("encrypted-2.img"), 100);
        CHECK_THAT(problem(good), Contains("encrypted-2.img: it has 100 bytes"));
    }
    SECTION("what is used is what was looked at") {
        TemporaryDir target;
        const ImageDir copy = target.images();
        const std::string pages = contentOf(dump.path("encrypted-2.img"));
        requireSigned(images, good, &copy, kGoOn);
        write(dump.path("encrypted-2.img"), "exchanged afterwards");
        CHECK(contentOf(target.path() + "/encrypted-2.img") == pages);
        CHECK_FALSE(fs::exists(target.path() + "/signature.img"));
        TemporaryDir plain;
        const ImageDir to = plain.images();
        CHECK(decryptImages(copy, DumpKey(copy, dump.identities), &to, kGoOn).files == 3);
        CHECK(contentOf(plain.path() + "/pages-1.img") == dump.large);
    }
    SECTION("made larger by a hole that nobody could read to its end") {
        fs::resize_file(dump.path("encrypted-2.img"), std::uintmax_t{1} << 40);
        CHECK_THAT(problem(good), Contains("encrypted-2.img: it has 1099511627776 bytes, but"));
    }
    SECTION("removed") {
        REQUIRE(::unlink(dump.path("encrypted-1.img").c_str()) == 0);
        CHECK_THAT(problem(good), Contains("encrypted-1.img, which was signed"));
    }
    SECTION("added") {
        write(dump.path("a.img"), "x");
        CHECK_THAT(problem(good), Contains("a.img: it wasn't signed"));
    }
    SECTION("the signature itself") {
        const std::string whole = contentOf(dump.path("signature.img"));
        for (std::size_t at = 0; at < whole.size(); at += 7) {
            std::string changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ 4);
            write(dump.path("signature.img"), changed);
            CAPTURE(at);
            CHECK_FALSE(problem(good).empty());
        }
    }
}

TEST_CASE("signed images name those that they build on") {
    TemporaryDir first;
    TemporaryDir second;
    const Signers good = parseSigners(kSignerPublicPem);
    const auto linkOf = [&](const TemporaryDir& folder) {
        return requireSigned(folder.images(), good, nullptr, kGoOn);
    };
    write(first.path() + "/inventory.img", "an inventory");
    write(first.path() + "/pagemap-5.img", "a pagemap");
    write(first.path() + "/pages-1.img", "content");
    signImages(first.images(), parseSigner(kSignerPem), std::nullopt, kGoOn);
    const SignedLink parent = linkOf(first);
    CHECK_FALSE(parent.parent);
    write(second.path() + "/pages-1.img", "content");
    signImages(second.images(), parseSigner(kSignerPem), parent.id, kGoOn);
    const SignedLink child = linkOf(second);
    CHECK(child.parent == parent.id);
    CHECK(child.id != parent.id);
    SECTION("of which the next dump reads records only") {
        TemporaryDir target;
        const ImageDir copy = target.images();
        write(first.path() + "/pages-1.img", "CONTENT");
        CHECK(requireSigned(first.images(), good, &copy, kGoOn, SignedPart::Records).id == parent.id);
        CHECK(contentOf(target.path() + "/inventory.img") == "an inventory");
        CHECK(contentOf(target.path() + "/pagemap-5.img") == "a pagemap");
        CHECK_FALSE(fs::exists(target.path() + "/pages-1.img"));
        write(first.path() + "/pagemap-5.img", "A pagemap");
        CHECK_THAT(errorOf([&] { requireSigned(first.images(), good, nullptr, kGoOn, SignedPart::Records); }),
                   Contains("pagemap-5.img: the piece at offset 0x0"));
    }
    SECTION("every byte of it counts") {
        const std::string path = second.path() + "/signature.img";
        const std::string whole = contentOf(path);
        for (std::size_t at = 0; at < whole.size(); ++at) {
            std::string changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ 4);
            write(path, changed);
            CAPTURE(at);
            CHECK_FALSE(errorOf([&] { linkOf(second); }).empty());
        }
    }
}

TEST_CASE("the copy of signed images has empty files, and holes as zeroes") {
    TemporaryDir signedOnes;
    TemporaryDir target;
    const ImageDir images = signedOnes.images();
    std::string content(5U << 20, '\0');
    content[content.size() - 1] = content[3U << 20] = 'x';
    write(signedOnes.path() + "/pages-1.img", content);
    write(signedOnes.path() + "/empty.img", "");
    write(signedOnes.path() + "/note.txt", "not an image");
    signImages(images, parseSigner(kSignerPem), std::nullopt, kGoOn);
    const ImageDir copy = target.images();
    requireSigned(images, parseSigners(kSignerPublicPem), &copy, kGoOn);
    CHECK(contentOf(target.path() + "/pages-1.img") == content);
    CHECK(fs::exists(target.path() + "/empty.img"));
    CHECK_FALSE(fs::exists(target.path() + "/note.txt"));
}

TEST_CASE("images are encrypted for keys of every kind") {
    const std::string large(5U << 20, 'x');
    const auto [recipient, secret] = GENERATE(table<const char*, const char*>({
        {pki::kRsaPublic, pki::kRsaSecret},
        {pki::kRsaCertificate, pki::kRsaSecretPkcs1},
        {pki::kP256Certificate, pki::kP256SecretSec1},
        {pki::kP256Certificate, pki::kP256Secret},
        {pki::kP384Certificate, pki::kP384Secret},
        {pki::kP521Public, pki::kP521Secret},
        {kPublicPem, kSecretPem},
    }));
    TemporaryDir folder;
    TemporaryDir target;
    std::vector<crypto::PublicKey> recipients{newIdentity().own};
    recipients.push_back(parseRecipients(recipient).front());
    recipients.push_back(parseRecipients(pki::kP521Public).front());
    dumpFor(folder, recipients, large);
    const ImageDir from = folder.images();
    const ImageDir to = target.images();
    std::vector<crypto::SecretKey> identities = parseIdentities(pki::kP384Secret);
    for (crypto::SecretKey& each : parseIdentities(secret))
        identities.push_back(std::move(each));
    CHECK(decryptImages(from, DumpKey(from, identities), &to, kGoOn).files == 3);
    CHECK(contentOf(target.path() + "/fs-7.img") == "something that nobody is to read");
    const std::string path = folder.path() + "/encryption.img";
    const std::string whole = contentOf(path);
    for (std::size_t at = 0; at < whole.size(); at += 5) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 4);
        write(path, changed);
        CAPTURE(at);
        CHECK_FALSE(errorOf([&] { decryptImages(from, DumpKey(from, identities), nullptr, kGoOn); }).empty());
    }
}

TEST_CASE("secrets are agreed on as other programs do") {
    const auto bytesOfHex = [](const std::string& hex) {
        std::vector<std::byte> bytes;
        for (std::size_t i = 0; i < hex.size(); i += 2)
            bytes.push_back(std::byte(std::stoi(hex.substr(i, 2), nullptr, 16)));
        return bytes;
    };
    const crypto::KeyAgreement agreement;
    const auto [secret, share, shared] = GENERATE(table<const char*, const char*, const char*>({
        {pki::kRsaSecret, pki::kRsaShare, pki::kRsaShared},
        {kSecretPem, pki::kX25519Share, pki::kX25519Shared},
        {pki::kP256Secret, pki::kP256Share, pki::kP256Shared},
        {pki::kP384Secret, pki::kP384Share, pki::kP384Shared},
        {pki::kP521Secret, pki::kP521Share, pki::kP521Shared},
    }));
    const auto found = agreement.recover(parseIdentities(secret).front(), bytesOfHex(share));
    REQUIRE(found);
    const auto bytes = found->bytes();
    CHECK(std::vector<std::byte>(bytes.begin(), bytes.end()) == bytesOfHex(shared));
}

TEST_CASE("keys that are too weak, of other kinds, or for other uses are refused") {
    const auto recipient = [](const std::string& text) { return errorOf([&] { (void)parseRecipients(text); }); };
    const auto signer = [](const std::string& text) { return errorOf([&] { (void)parseSigner(text); }); };
    CHECK_THAT(recipient(pki::kSmallRsa), Contains("an RSA key of 1024 bits"));
    CHECK_THAT(recipient(pki::kOtherCurve), Contains("a curve that nothing is encrypted with"));
    CHECK_THAT(recipient(kSignerPublicPem), Contains("a kind that nothing is encrypted with"));
    CHECK_THAT(recipient(pki::kP521SignsOnly), Contains("is for other uses"));
    CHECK_THAT(recipient(pki::kSignerCertificate), Contains("is for other uses"));
    CHECK_THAT(recipient(pki::kExpiredCertificate), Contains("has expired"));
    CHECK_THAT(recipient(pki::kEarlyCertificate), Contains("isn't valid yet"));
    CHECK_THAT(recipient(pki::kRsaSecret), Contains("isn't a public key or a certificate"));
    CHECK_THAT(signer(kSecretPem), Contains("can't sign"));
    CHECK_THAT(signer(pki::kLockedSecret), Contains("needs a passphrase"));
    CHECK_THAT(signer(std::string(pki::kSignerSecret) + pki::kRsaSignerSecret), Contains("one signs"));
    CHECK_THAT(signer(std::string(pki::kSignerSecret) + pki::kRsaSignerCertificate), Contains("of another key"));
    CHECK_THAT(signer(std::string(pki::kSignerSecret) + pki::kExpiredCertificate), Contains("has expired"));
    CHECK_THAT(signer(pki::kSignerCertificate), Contains("no key"));
    CHECK_THAT(errorOf([] { (void)parseSigners(pki::kSmallRsa); }), Contains("an RSA key of 1024 bits"));
    CHECK_THAT(errorOf([] { (void)parseSigners(kPublicPem); }), Contains("line 1"));
    CHECK_THAT(errorOf([] { (void)parseSigners(pki::kRevocations); }), Contains("no key"));
}

TEST_CASE("text between PEM blocks is for people, but not lines of age") {
    const std::string text = std::string("Bag Attributes\n  friendlyName: x\n") + pki::kP256Secret + "subject=CN=x\n" +
                             pki::kP256Certificate;
    CHECK(parseIdentities(text).size() == 1);
    CHECK(parseRecipients(std::string(kPublicPem) + kAgePublic).size() == 2);
    CHECK_THAT(errorOf([] { (void)parseRecipients(std::string(kPublicPem) + "age1mistyped"); }), Contains("line 4"));
    CHECK_THAT(errorOf([] { (void)parseRecipients("Age1mistyped\n"); }), Contains("line 1"));
}

TEST_CASE("signers are those whom an authority has certified, now") {
    TemporaryDir folder;
    const ImageDir images = folder.images();
    write(folder.path() + "/pages-1.img", "content");
    const auto problem = [&](const std::string& by) {
        return errorOf([&] { requireSigned(images, parseSigners(by), nullptr, kGoOn); });
    };
    const auto sign = [&](const std::string& key, const std::vector<const char*>& certificates) {
        Signer signer = parseSigner(key);
        for (const char* const each : certificates)
            signer.certificates.push_back(parseSigners(each).certificates.front());
        signImages(images, signer, std::nullopt, kGoOn);
    };
    const std::string authority = pki::kAuthority;
    SECTION("each kind of key") {
        const auto [key, certificate] = GENERATE(table<const char*, const char*>({
            {pki::kSignerSecret, pki::kSignerCertificate},
            {pki::kRsaSignerSecret, pki::kRsaSignerCertificate},
            {pki::kPssSignerSecret, pki::kPssSignerCertificate},
            {pki::kEdSignerSecret, pki::kEdSignerCertificate},
        }));
        signImages(images, parseSigner(std::string(key) + certificate), std::nullopt, kGoOn);
        CHECK(problem(authority) == "");
        CHECK(problem(certificate) == "");
        CHECK(problem(std::string(pki::kOtherAuthority) + pki::kAuthority) == "");
        CHECK_FALSE(problem(pki::kOtherAuthority).empty());
        CHECK_THAT(problem(pki::kRsaPublic), Contains("by somebody else"));
        write(folder.path() + "/pages-1.img", "changed");
        CHECK_THAT(problem(authority), Contains("pages-1.img: the piece at offset 0x0"));
    }
    SECTION("through another authority") {
        sign(pki::kSignerSecret, {pki::kDeepCertificate, pki::kIntermediate});
        CHECK(problem(authority) == "");
        sign(pki::kSignerSecret, {pki::kDeepCertificate});
        CHECK_FALSE(problem(authority).empty());
        CHECK(problem(authority + pki::kIntermediate) == "");
        CHECK(problem(pki::kIntermediate) == "");
    }
    SECTION("through somebody who is none") {
        sign(pki::kSignerSecret, {pki::kUnderSigner, pki::kRsaSignerCertificate});
        CHECK_FALSE(problem(authority).empty());
        CHECK_FALSE(problem(pki::kRsaSignerCertificate).empty());
    }
    SECTION("not any more, and not yet") {
        sign(pki::kSignerSecret, {pki::kExpiredCertificate});
        CHECK_THAT(problem(authority), Contains("has expired"));
        CHECK_FALSE(problem(pki::kExpiredCertificate).empty());
        CHECK(problem(pki::kSignerPublic) == "");
        sign(pki::kSignerSecret, {pki::kEarlyCertificate});
        CHECK_THAT(problem(authority), Contains("isn't valid yet"));
    }
    SECTION("for something else") {
        sign(pki::kSignerSecret, {pki::kServerCertificate});
        CHECK_FALSE(problem(authority).empty());
    }
    SECTION("by another authority") {
        sign(pki::kSignerSecret, {pki::kForeignCertificate});
        CHECK_FALSE(problem(authority).empty());
        CHECK(problem(pki::kOtherAuthority) == "");
    }
    SECTION("somebody else's certificate beside a signature") {
        sign(pki::kSignerSecret, {pki::kRsaSignerCertificate});
        CHECK_THAT(problem(authority), Contains("by somebody else"));
        CHECK(problem(pki::kSignerCertificate) == "");
    }
    SECTION("without a certificate") {
        sign(pki::kSignerSecret, {});
        CHECK_THAT(problem(authority), Contains("by somebody else"));
        CHECK(problem(authority + pki::kSignerCertificate) == "");
        CHECK_FALSE(problem(authority + pki::kExpiredCertificate).empty());
        CHECK_FALSE(problem(pki::kExpiredCertificate).empty());
    }
    SECTION("until they are revoked") {
        sign(pki::kRevokedSecret, {pki::kRevokedCertificate});
        CHECK(problem(authority) == "");
        CHECK_THAT(problem(authority + pki::kRevocations), Contains("revoked"));
        CHECK_THAT(problem(authority + pki::kOtherRevocations), Contains("isn't of one of the authorities"));
        sign(pki::kSignerSecret, {pki::kSignerCertificate});
        CHECK(problem(authority + pki::kRevocations) == "");
    }
}

TEST_CASE("keys are taken as other programs write them") {
    const auto secrets = parseIdentities(kSecretPem);
    const auto publics = parseRecipients(kPublicPem);
    REQUIRE(secrets.size() == 1);
    REQUIRE(publics.size() == 1);
    CHECK(secrets.front().own == publics.front());
    CHECK(parseRecipients(std::string("# two\n\n") + kPublicPem + kPublicPem).size() == 2);
    CHECK(parseIdentities(kAgeSecret).front().own == parseRecipients(kAgePublic).front());
    CHECK(parseIdentities(kAgeSecret).front().own == publics.front());
    CHECK(parseIdentities(pki::kRsaSecretPkcs1).front().own == parseRecipients(pki::kRsaPublic).front());
    CHECK(parseIdentities(pki::kP256SecretSec1).front().own == parseRecipients(pki::kP256Certificate).front());
}

TEST_CASE("what isn't a key is refused, and never repeated") {
    const auto secret = [](const std::string& text) { return errorOf([&] { (void)parseIdentities(text); }); };
    CHECK_THAT(secret(""), Contains("no key"));
    CHECK_THAT(secret("AGE-SECRET-KEY-1QQQQ"), Contains("line 1: it isn't a key"));
    CHECK_THAT(secret("AGE-SECRET-KEY-1QQQQ"), !Contains("QQQQ"));
    std::string mistyped = kAgeSecret;
    mistyped[30] = mistyped[30] == 'Q' ? 'P' : 'Q';
    CHECK_THAT(secret(mistyped), Contains("line 1"));
    CHECK_THAT(secret(kPublicPem), Contains("line 1") && Contains("isn't a secret key"));
    CHECK_THAT(secret("-----BEGIN PRIVATE KEY-----\nMC4CAQ"), Contains("no end"));
    CHECK_THAT(secret("-----BEGIN PRIVATE KEY-----\nMC4C!!\n-----END PRIVATE KEY-----"), Contains("line 1"));
    CHECK_THAT(secret("-----BEGIN PRIVATE KEY-----\nMC4CAQAw\n-----END PRIVATE KEY-----"),
               Contains("isn't a secret key"));
    CHECK_THAT(secret("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----"), Contains("line 1"));
    CHECK_THAT(secret(kSignerPem), Contains("a kind that nothing is encrypted with"));
    CHECK_THAT(errorOf([] { (void)parseSigner(kSecretPem); }), Contains("line 1"));
    CHECK_THAT(errorOf([] { (void)parseSigners(kAgePublic); }), Contains("line 1"));
    std::string damaged = pki::kP256Secret;
    damaged[100] = damaged[100] == 'A' ? 'B' : 'A';
    CHECK_THAT(secret(damaged), !Contains(damaged.substr(90, 20)));
}

TEST_CASE("a file of secret keys that others may read isn't used") {
    TemporaryDir folder;
    StopRequest stop;
    const std::string path = folder.path() + "/key";
    write(path, kSecretPem);
    const auto read = [&] { return errorOf([&] { (void)readIdentities(path, stop); }); };
    REQUIRE(::chmod(path.c_str(), 0640) == 0);
    CHECK_THAT(read(), Contains("others may use the file (mode 0640)") && Contains("chmod 600"));
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    CHECK(read().empty());
    if (::geteuid() == 0) {
        REQUIRE(::chown(path.c_str(), 4711, 4711) == 0);
        CHECK_THAT(read(), Contains("belongs to user 4711"));
    }
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const UniqueFd out(ends[0]);
    {
        const UniqueFd in(ends[1]);
        const std::string text = kSecretPem;
        REQUIRE(::write(in.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    }
    CHECK(readIdentities(std::to_string(out.get()), stop).size() == 1);
}
