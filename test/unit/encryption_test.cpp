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

using Catch::Contains;
using namespace criu;
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

/// A recipient, and images for it: a small file, a large one with holes, and one that is empty.
struct Encrypted {
    Encrypted() {
        identities.emplace_back(crypto::kKeySize);
        crypto::randomize(identities.front().bytes());
        large.resize(5U << 20, '\0');
        for (std::size_t i = 1U << 20; i < 2'500'000; ++i)
            large[i] = static_cast<char>(i * i >> 7);
        dump(images);
    }

    void dump(TemporaryDir& into) const {
        const ImageDir directory = into.images();
        EncryptingOutlet out(std::make_unique<DirectoryOutlet>(directory),
                             {crypto::Curves().publicOf(identities.front().bytes())});
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

    [[nodiscard]] std::string path(const std::string& name) { return images.path() + "/" + name; }

    /// What decryption says is wrong.
    std::string damage(const std::vector<crypto::SecretBytes>& keys) {
        TemporaryDir target;
        const ImageDir from = images.images();
        const ImageDir to = target.images();
        return errorOf([&] { decryptImages(from, DumpKey(from, keys), &to, kGoOn); });
    }
    std::string damage() { return damage(identities); }

    TemporaryDir images;
    std::vector<crypto::SecretBytes> identities;
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

/// The same pair in age's form.
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
        std::vector<crypto::SecretBytes> stranger;
        stranger.emplace_back(crypto::kKeySize);
        crypto::randomize(stranger.front().bytes());
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
    std::vector<crypto::SecretBytes> identities;
    identities.emplace_back(crypto::kKeySize);
    crypto::randomize(identities.front().bytes());
    {
        EncryptingOutlet out(std::make_unique<DirectoryOutlet>(directory),
                             {crypto::Curves().publicOf(identities.front().bytes())});
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
    std::vector<std::uint8_t> zeroes(64);
    const auto refused = [&](std::size_t id, std::size_t recipients, std::size_t share, std::size_t wrapped,
                             std::size_t mac, std::uint32_t version = 1) {
        EncryptionRecipient one = ENCRYPTION_RECIPIENT__INIT;
        one.share = {share, zeroes.data()};
        one.wrapped = {wrapped, zeroes.data()};
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
    CHECK_THAT(refused(16, 1, 32, 48, 32, 2), Contains("in a way that this criu doesn't know: 2"));
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
        EncryptingOutlet out(std::make_unique<DirectoryOutlet>(directory), {crypto::PublicKey{std::byte{9}}});
        const auto file = out.create("pages-1.img");
        file->write(0, bytesOf("x"));
        CHECK_THAT(errorOf([&] { out.finish(); }), Contains("pages-1.img is incomplete"));
    }
    CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("signed images are all there, unchanged, and by the right signer") {
    Encrypted dump;
    crypto::SecretBytes secret(crypto::kKeySize);
    crypto::randomize(secret.bytes());
    const crypto::PublicKey signer = crypto::Curves().signerOf(secret.bytes());
    const ImageDir images = dump.images.images();
    const std::vector<crypto::PublicKey> good{crypto::PublicKey{}, signer};
    const auto problem = [&](const std::vector<crypto::PublicKey>& by) {
        return errorOf([&] { requireSigned(images, by, nullptr, kGoOn); });
    };
    CHECK_THAT(problem(good), Contains("aren't signed"));
    signImages(images, secret.bytes(), kGoOn);
    CHECK(problem(good).empty());
    CHECK_THAT(problem({crypto::PublicKey{}}), Contains("by somebody else"));
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

TEST_CASE("the copy of signed images has empty files, and holes as zeroes") {
    TemporaryDir signedOnes;
    TemporaryDir target;
    crypto::SecretBytes secret(crypto::kKeySize);
    crypto::randomize(secret.bytes());
    const ImageDir images = signedOnes.images();
    std::string content(5U << 20, '\0');
    content[content.size() - 1] = content[3U << 20] = 'x';
    write(signedOnes.path() + "/pages-1.img", content);
    write(signedOnes.path() + "/empty.img", "");
    write(signedOnes.path() + "/note.txt", "not an image");
    signImages(images, secret.bytes(), kGoOn);
    const ImageDir copy = target.images();
    const std::vector<crypto::PublicKey> good{crypto::Curves().signerOf(secret.bytes())};
    requireSigned(images, good, &copy, kGoOn);
    CHECK(contentOf(target.path() + "/pages-1.img") == content);
    CHECK(fs::exists(target.path() + "/empty.img"));
    CHECK_FALSE(fs::exists(target.path() + "/note.txt"));
}

TEST_CASE("keys are taken as other programs write them") {
    const auto secrets = parseSecretKeys(kSecretPem, KeyKind::Encryption);
    const auto publics = parsePublicKeys(kPublicPem, KeyKind::Encryption);
    REQUIRE(secrets.size() == 1);
    REQUIRE(publics.size() == 1);
    CHECK(crypto::Curves().publicOf(secrets.front().bytes()) == publics.front());
    CHECK(parsePublicKeys(std::string("# two\n\n") + kPublicPem + kPublicPem, KeyKind::Encryption).size() == 2);
    const auto age = parseSecretKeys(kAgeSecret, KeyKind::Encryption);
    CHECK(crypto::Curves().publicOf(age.front().bytes()) == parsePublicKeys(kAgePublic, KeyKind::Encryption).front());
}

TEST_CASE("what isn't a key is refused, and never repeated") {
    const auto secret = [](const std::string& text) {
        return errorOf([&] { (void)parseSecretKeys(text, KeyKind::Encryption); });
    };
    CHECK_THAT(secret(""), Contains("no key"));
    CHECK_THAT(secret("AGE-SECRET-KEY-1QQQQ"), Contains("line 1 isn't a secret X25519 key"));
    CHECK_THAT(secret("AGE-SECRET-KEY-1QQQQ"), !Contains("QQQQ"));
    std::string mistyped = kAgeSecret;
    mistyped[30] = mistyped[30] == 'Q' ? 'P' : 'Q';
    CHECK_THAT(secret(mistyped), Contains("line 1"));
    CHECK_THAT(secret(kPublicPem), Contains("line 1"));
    CHECK_THAT(secret("-----BEGIN PRIVATE KEY-----\nMC4CAQ"), Contains("no end"));
    CHECK_THAT(secret("-----BEGIN PRIVATE KEY-----\nMC4C!!\n-----END PRIVATE KEY-----"), Contains("isn't an X25519"));
    CHECK_THAT(errorOf([] { (void)parseSecretKeys(kSecretPem, KeyKind::Signature); }), Contains("isn't an Ed25519"));
    CHECK_THAT(errorOf([] { (void)parsePublicKeys(kAgePublic, KeyKind::Signature); }), Contains("line 1"));
}

TEST_CASE("a file of secret keys that others may read isn't used") {
    TemporaryDir folder;
    StopRequest stop;
    const std::string path = folder.path() + "/key";
    write(path, kSecretPem);
    const auto read = [&] { return errorOf([&] { (void)readSecretKeys(path, KeyKind::Encryption, stop); }); };
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
    CHECK(readSecretKeys(std::to_string(out.get()), KeyKind::Encryption, stop).size() == 1);
}
