// SPDX-License-Identifier: GPL-2.0-only
// Encrypted images: every change is detected, and only recipients can read them.
#include <unistd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/base/crypto/crypto.hpp"
#include "criu/base/error.hpp"
#include "criu/image/encrypted_format.hpp"
#include "criu/image/image_outlet.hpp"
#include "criu/image/key_files.hpp"
#include "images/encryption.hpp"
#include "pki.hpp"
#include "secrecy_fixture.hpp"

using Catch::Contains;
using namespace criu;
using namespace criu::test;

namespace fs = std::filesystem;

TEST_CASE("encrypted images are what they were when a recipient decrypts them, and nothing of them shows") {
    Encrypted dump;
    TemporaryDir target;
    const ImageDir from = dump.images.images();
    CHECK(areEncrypted(from));
    const ImageDir to = target.images();
    const DecryptedAmounts amounts = decryptImages(from, DumpKey(from, dump.identities), &to, kGoOn);
    CHECK(amounts.files == 3);
    CHECK(contentOf(target.path() + "/fs-7.img") == "something that no others may see");
    CHECK(contentOf(target.path() + "/pages-1.img") == dump.large);
    CHECK(contentOf(target.path() + "/empty.img").empty());
    for (const auto& entry : fs::directory_iterator(dump.images.path())) {
        const std::string content = contentOf(entry.path());
        CHECK(content.find("no others may see") == std::string::npos);
        CHECK(content.find("pages-1") == std::string::npos);
    }
}

TEST_CASE("holes of images aren't encrypted") {
    const TemporaryDir plain;
    TemporaryDir encrypted;
    std::ofstream(plain.path() + "/pages-1.img") << "content";
    fs::resize_file(plain.path() + "/pages-1.img", std::uintmax_t{64} << 20);
    {
        const ImageDir directory = encrypted.images();
        EncryptingOutlet out(std::make_unique<DirectoryOutlet>(directory), {newIdentity().own});
        sendImages(plain.images(), out, Sent::All);
        out.finish();
    }
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(encrypted.path()))
        bytes += fs::file_size(entry.path());
    CHECK(bytes < std::uintmax_t{4} << 20);
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
    dump.dump(other);  // equal content for the same recipient
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
        // Threads decrypt both files, and one of them is the first to report damage.
        CHECK_THAT(dump.damage(),
                   Contains("encrypted-2.img") && Contains("bytes at offset ") && Contains("don't decrypt"));
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
    // Entry of pages-1.img: its size, and offsets and sizes of its blocks.
    const auto seal = [&](std::span<const std::byte> list) {
        std::string file(8 + list.size() + crypto::kTagSize, '\0');
        const auto sealed = std::as_writable_bytes(std::span(file));
        const auto head = encrypted::head();
        std::copy(head.begin(), head.end(), sealed.begin());
        key.ciphers().seal(key.ofFile(encrypted::kListFile).bytes(), {0, encrypted::kLastOfList}, {}, list,
                           sealed.subspan(head.size()));
        write(dump.path("encrypted-0.img"), file);
    };
    const auto listed = [&](std::uint64_t size, std::vector<std::uint64_t> offsets, std::vector<std::uint32_t> sizes,
                            std::string name = "pages-1.img") {
        EncryptedFileEntry entry = ENCRYPTED_FILE_ENTRY__INIT;
        entry.name = name.data();
        entry.size = size;
        entry.n_offsets = offsets.size();
        entry.offsets = offsets.data();
        entry.n_sizes = sizes.size();
        entry.sizes = sizes.data();
        seal(imageOf(ImageKind::Encrypted, entry.base));
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

    // A record with two names. Protobuf takes the last of them; --untrusted refuses the record.
    EncryptedFileEntry entry = ENCRYPTED_FILE_ENTRY__INIT;
    std::string name = "x";
    entry.name = name.data();
    std::vector<std::byte> list = imageOf(ImageKind::Encrypted, entry.base);
    const std::size_t size = encodedSize(entry.base);
    list[list.size() - size - sizeof(std::uint32_t)] = static_cast<std::byte>(size + 3);
    for (const char byte : {'\x0a', '\x01', '/'})
        list.push_back(static_cast<std::byte>(byte));
    seal(list);
    CHECK_THAT(dump.damage(), Contains("\"/\" is no name of an image"));
    ImageDir untrusted = dump.images.images();
    untrusted.distrust();
    CHECK_THAT(errorOf([&] { decryptImages(untrusted, key, nullptr, kGoOn); }),
               Contains("isn't in canonical form at field 1"));
}

TEST_CASE("a list of encrypted files that was cut where one of its pieces ends isn't taken for a whole one") {
    TemporaryDir folder;
    const ImageDir directory = folder.images();
    std::vector<crypto::SecretKey> identities;
    identities.push_back(newIdentity());
    {
        EncryptingOutlet out(std::make_unique<DirectoryOutlet>(directory), {identities.front().own});
        const auto file = out.create("pages-1.img");
        // Each block takes 8 bytes in the list: 7 for its offset, 1 for its size.
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
    CHECK_THAT(damage(), Contains("encrypted-0.img: the 1048592 bytes at offset 0x8 don't decrypt"));
    write(path, whole.substr(0, 8) + whole.substr(kFirst));
    CHECK_THAT(damage(), Contains("encrypted-0.img") && Contains("don't decrypt"));
    write(path, whole + whole.substr(kFirst));
    CHECK_THAT(damage(), Contains("encrypted-0.img") && Contains("don't decrypt"));
}

TEST_CASE("a forged head of encrypted images is refused") {
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
    CHECK_THAT(refused(16, 1, 32, 48, 32, 4), Contains("in a way that this criu doesn't know: 4"));
    CHECK_THAT(refused(16, 1, 32, 48, 32, 0), Contains("in a way that this criu doesn't know: 0"));
    CHECK_THAT(refused(16, 1, 65, 48, 32, 1, 1), Contains("its share has 65 bytes"));
    CHECK_THAT(refused(16, 1, 65, 48, 32, 2, 5), Contains("a key of a kind that this criu doesn't know: 5"));
    for (const auto& [kind, size] : std::vector<std::pair<std::uint32_t, std::size_t>>{
             {0, 31}, {1, 64}, {2, 65}, {3, 0}, {4, 255}, {4, 2049}, {4, 0}})
        CHECK_THAT(refused(16, 1, size, 48, 32, 2, kind), Contains(fmt::format("its share has {} bytes", size)));
    // Points that aren't on their curve, and a number that isn't a result of encryption.
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

TEST_CASE("no two dumps have the same key or id, for any recipient") {
    Encrypted dump;
    TemporaryDir other;
    dump.dump(other);
    for (const char* name : {"encryption.img", "encrypted-0.img", "encrypted-1.img", "encrypted-2.img"}) {
        const std::string one = contentOf(dump.path(name));
        const std::string two = contentOf(other.path() + "/" + name);
        CAPTURE(name);
        REQUIRE(one.size() > 40);
        // The content is equal. If key and nonce had been used twice, the encrypted bytes would be equal, too.
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
    CHECK(contentOf(target.path() + "/fs-7.img") == "something that no others may see");
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

namespace {

using Kept = std::array<std::byte, DumpKey::kKeptSize>;

/// Writes images of a dump with the data that the next dump reads.
void dumpRecords(const ImageDir& into, const crypto::PublicKey& recipient, std::optional<EncryptedId> parent,
                 Kept& kept, EncryptedId& id) {
    EncryptingOutlet out(std::make_unique<DirectoryOutlet>(into), {recipient},
                         std::make_unique<DumpKey>(EncryptionLinks{parent, false, true}));
    for (const char* const name : {"pages-1.img", "pagemap-7.img", "inventory.img"}) {
        const auto file = out.create(name);
        file->write(0, bytesOf(name));
        file->finish(std::string_view(name).size());
    }
    out.finish();
    out.key().keepRecords(kept);
    id = out.key().id();
}

}  // namespace

TEST_CASE("encrypted images authenticate the id of their parent") {
    const crypto::SecretKey identity = newIdentity();
    TemporaryDir first;
    TemporaryDir second;
    Kept kept{};
    EncryptedId id{};
    EncryptedId other{};
    dumpRecords(first.images(), identity.own, std::nullopt, kept, id);
    dumpRecords(second.images(), identity.own, id, kept, other);
    CHECK(id != other);
    const ImageDir from = second.images();
    const std::span<const crypto::SecretKey> identities(&identity, 1);
    CHECK(DumpKey(first.images(), identities).id() == id);
    CHECK_FALSE(DumpKey(first.images(), identities).bonds().parent);
    CHECK(DumpKey(from, identities).id() == other);
    CHECK(DumpKey(from, identities).bonds().parent == id);
    const std::string path = second.path() + "/encryption.img";
    const std::string whole = contentOf(path);
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        write(path, changed);
        CAPTURE(at);
        CHECK_FALSE(errorOf([&] { (void)DumpKey(from, identities); }).empty());
        CHECK_FALSE(errorOf([&] { (void)DumpKey(from, DumpKey::Kept(kept)); }).empty());
    }
    // Removes the field parent, with each version: also one that never had the field.
    for (const std::uint32_t version : {1U, 2U, 3U}) {
        write(path, whole);
        const auto head = from.openRequired(ImageKind::Encryption).only<EncryptionHead>();
        EncryptionHead without = *head;
        without.version = version;
        without.has_parent = 0;
        const std::vector<std::byte> image = imageOf(ImageKind::Encryption, without.base);
        write(path, std::string(reinterpret_cast<const char*>(image.data()), image.size()));
        CHECK_THAT(errorOf([&] { (void)DumpKey(from, identities); }), Contains("it is damaged or changed"));
    }
}

TEST_CASE("the stored key of a dump decrypts the requested part of its images and no other images") {
    const crypto::SecretKey identity = newIdentity();
    TemporaryDir folder;
    TemporaryDir other;
    Kept kept{};
    Kept keptOfOther{};
    EncryptedId id{};
    EncryptedId idOfOther{};
    dumpRecords(folder.images(), identity.own, std::nullopt, kept, id);
    dumpRecords(other.images(), identity.own, std::nullopt, keptOfOther, idOfOther);
    const ImageDir from = folder.images();
    CHECK(DumpKey::isKept(from, kept));
    CHECK_FALSE(DumpKey::isKept(from, keptOfOther));
    const DumpKey key(from, DumpKey::Kept(kept));
    CHECK(key.id() == id);
    Kept forged = kept;
    forged.back() ^= std::byte{1};
    CHECK(DumpKey::isKept(from, forged));
    CHECK_THAT(errorOf([&] { (void)DumpKey(from, DumpKey::Kept(forged)); }),
               Contains("encryption.img") && Contains("it is damaged or changed"));
    CHECK_THAT(errorOf([&] { (void)DumpKey(from, DumpKey::Kept(keptOfOther)); }), Contains("it is damaged or changed"));

    TemporaryDir target;
    const ImageDir to = target.images();
    decryptImages(from, key, &to, kGoOn, DecryptedPart::Records);
    CHECK(contentOf(target.path() + "/inventory.img") == "inventory.img");
    CHECK(contentOf(target.path() + "/pagemap-7.img") == "pagemap-7.img");
    CHECK_FALSE(fs::exists(target.path() + "/pages-1.img"));
    CHECK_THAT(errorOf([&] { decryptImages(from, key, nullptr, kGoOn); }), Contains("the key of pages isn't known"));
    CHECK_THROWS(key.keepPages(forged));
    Encrypted alone;  // images without a child dump
    const ImageDir withoutBonds = alone.images.images();
    CHECK_THAT(errorOf([&] { (void)DumpKey(withoutBonds, DumpKey::Kept(kept)); }), Contains("doesn't add to such"));
    const auto take = [&] { decryptImages(from, key, nullptr, kGoOn, DecryptedPart::Records); };
    CHECK(errorOf(take).empty());
    const std::string pages = folder.path() + "/encrypted-1.img";
    const std::string whole = contentOf(pages);
    write(pages, whole.substr(0, whole.size() - 1));
    CHECK_THAT(errorOf(take), Contains("encrypted-1.img (pages-1.img): it has"));
    REQUIRE(::unlink(pages.c_str()) == 0);
    CHECK_THAT(errorOf(take), Contains("encrypted-1.img (pages-1.img)"));
    write(pages, whole);
    std::string pagemap = contentOf(folder.path() + "/encrypted-2.img");
    pagemap.back() = static_cast<char>(pagemap.back() ^ 1);
    write(folder.path() + "/encrypted-2.img", pagemap);
    CHECK_THAT(errorOf(take), Contains("encrypted-2.img (pagemap-7.img)") && Contains("don't decrypt"));
}

TEST_CASE("what a page server has written of a dump goes with that dump only, and has to be there") {
    const crypto::SecretKey identity = newIdentity();
    const std::span<const crypto::SecretKey> identities(&identity, 1);
    TemporaryDir folder;
    TemporaryDir target;
    const ImageDir from = folder.images();
    const ImageDir to = target.images();
    const auto put = [](EncryptingOutlet& out, const std::string& name) {
        const auto file = out.create(name);
        file->write(0, bytesOf(name));
        file->finish(name.size());
    };
    Kept kept{};
    {
        EncryptingOutlet out(std::make_unique<DirectoryOutlet>(from), {identity.own},
                             std::make_unique<DumpKey>(EncryptionLinks{std::nullopt, true, false}));
        put(out, "fs-7.img");
        out.finish();
        out.key().keepPages(kept);
        EncryptingOutlet pages(std::make_unique<DirectoryOutlet>(from), {identity.own},
                               std::make_unique<DumpKey>(DumpKey::Kept(kept), std::nullopt), kPagesSet);
        put(pages, "pages-65537.img");
        pages.finish();
    }
    const DumpKey key(from, identities);
    CHECK(key.bonds().pagesApart);
    CHECK(key.idOfPages() == DumpKey(from, identities, kPagesSet).id());
    CHECK(key.idOfPages() != key.id());
    CHECK(key.idOfPages() != DumpKey().idOfPages());
    Kept records{};
    key.keepRecordsOfPages(records);
    CHECK(DumpKey(from, DumpKey::Kept(records), kPagesSet).id() == key.idOfPages());
    const auto takeBoth = [&] {
        return errorOf([&] {
            decryptImages(from, key, &to, kGoOn);
            decryptImages(from, DumpKey(from, identities, kPagesSet), &to, kGoOn, DecryptedPart::All, kPagesSet);
        });
    };
    CHECK(takeBoth().empty());
    CHECK(contentOf(target.path() + "/fs-7.img") == "fs-7.img");
    CHECK(contentOf(target.path() + "/pages-65537.img") == "pages-65537.img");
    CHECK_THAT(takeBoth(), Contains("fs-7.img is there twice"));
    // The head says whether another set belongs to it. Without that word the set is a stranger.
    const std::string path = folder.path() + "/encryption.img";
    const auto head = from.openRequired(ImageKind::Encryption).only<EncryptionHead>();
    for (const bool says : {true, false}) {
        EncryptionHead changed = *head;
        changed.has_apart = says ? 1 : 0;
        changed.apart = 0;
        const std::vector<std::byte> image = imageOf(ImageKind::Encryption, changed.base);
        write(path, std::string(reinterpret_cast<const char*>(image.data()), image.size()));
        CHECK_THAT(errorOf([&] { (void)DumpKey(from, identities); }), Contains("it is damaged or changed"));
    }
    Encrypted whole;
    fs::copy_file(folder.path() + "/encrypted-pages-1.img", whole.path("encrypted-pages-1.img"));
    CHECK_THAT(whole.damage(), Contains("encrypted-pages-1.img: it isn't of this dump"));
}
