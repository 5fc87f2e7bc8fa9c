// SPDX-License-Identifier: GPL-2.0-only
// Signed images: all files exist, with the content that the right signer has signed.
#include <unistd.h>

#include <catch2/catch.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "criu/image/key_files.hpp"
#include "criu/image/signature.hpp"
#include "pki.hpp"
#include "secrecy_fixture.hpp"

using Catch::Contains;
using namespace criu;
using namespace criu::test;

namespace fs = std::filesystem;

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
    CHECK_THAT(problem(parseSigners(pki::kRsaPublic)), Contains("signer isn't the one that"));
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
    SECTION("the file that is used is the file that was checked") {
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
    SECTION("made larger by a hole that is too large to read") {
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

TEST_CASE("signed images name their parent images") {
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
        CHECK_THAT(problem(pki::kRsaPublic), Contains("signer isn't the one that"));
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
    SECTION("through a certificate that isn't an authority's") {
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
    SECTION("another signer's certificate beside a signature") {
        sign(pki::kSignerSecret, {pki::kRsaSignerCertificate});
        CHECK_THAT(problem(authority), Contains("signer isn't the one that"));
        CHECK(problem(pki::kSignerCertificate) == "");
    }
    SECTION("without a certificate") {
        sign(pki::kSignerSecret, {});
        CHECK_THAT(problem(authority), Contains("signer isn't the one that"));
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
