// SPDX-License-Identifier: GPL-2.0-only
// Keys in the formats of other programs, and the operations of each kind.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "criu/base/crypto/key_agreement.hpp"
#include "criu/base/hex.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/key_files.hpp"
#include "pki.hpp"
#include "secrecy_fixture.hpp"

using Catch::Contains;
using namespace criu;
using namespace criu::test;

TEST_CASE("secrets are agreed on as other programs do") {
    const crypto::KeyAgreement agreement;
    const auto [secret, share, shared] = GENERATE(table<const char*, const char*, const char*>({
        {pki::kRsaSecret, pki::kRsaShare, pki::kRsaShared},
        {kSecretPem, pki::kX25519Share, pki::kX25519Shared},
        {pki::kP256Secret, pki::kP256Share, pki::kP256Shared},
        {pki::kP384Secret, pki::kP384Share, pki::kP384Shared},
        {pki::kP521Secret, pki::kP521Share, pki::kP521Shared},
    }));
    const auto found = agreement.recover(parseIdentities(secret).front(), parseHex(share).value());
    REQUIRE(found);
    CHECK(toHex(found->bytes()) == shared);
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
    CHECK_THAT(recipient(pki::kRsaSecret), Contains("isn't a public key or a certificate (openssl pkey"));
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
