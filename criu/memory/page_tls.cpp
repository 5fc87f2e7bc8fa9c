// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/page_tls.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "criu/base/error.hpp"
#include "criu/base/shared_library.hpp"

namespace criu::memory {
namespace {

// Where CRIU 4.2 looks.
constexpr const char* kAuthorities = "/etc/pki/CA/cacert.pem";
constexpr const char* kRevocations = "/etc/pki/CA/cacrl.pem";
constexpr const char* kCertificate = "/etc/pki/criu/cert.pem";
constexpr const char* kKey = "/etc/pki/criu/private/key.pem";

// gnutls/gnutls.h: the values are part of the library's binary interface.
constexpr unsigned kServer = 1;
constexpr unsigned kClient = 2;
constexpr int kX509 = 1;         // GNUTLS_CRT_X509, GNUTLS_CRD_CERTIFICATE
constexpr int kPem = 1;          // GNUTLS_X509_FMT_PEM
constexpr int kRequired = 2;     // GNUTLS_CERT_REQUIRE
constexpr int kOnlyWriting = 1;  // GNUTLS_SHUT_WR
constexpr int kAgain = -28;
constexpr int kInterrupted = -52;
constexpr int kPremature = -110;

struct Text {  // gnutls_datum_t
    char* data;
    unsigned size;
};

ssize_t push(void* socket, const void* bytes, std::size_t size) {
    return ::send(static_cast<int>(reinterpret_cast<std::intptr_t>(socket)), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t pull(void* socket, void* bytes, std::size_t size) {
    return ::recv(static_cast<int>(reinterpret_cast<std::intptr_t>(socket)), bytes, size, MSG_DONTWAIT);
}

}  // namespace

class PageTls::Library {
public:
    SharedLibrary library{"libgnutls.so.30", "libgnutls30"};
    const char* (*describe)(int code) = library["gnutls_strerror"];
    int (*isFatal)(int code) = library["gnutls_error_is_fatal"];
    int (*makeCredentials)(void** credentials) = library["gnutls_certificate_allocate_credentials"];
    void (*freeCredentials)(void* credentials) = library["gnutls_certificate_free_credentials"];
    int (*trustSystem)(void* credentials) = library["gnutls_certificate_set_x509_system_trust"];
    int (*trustFile)(void* credentials, const char* file, int form) = library["gnutls_certificate_set_x509_trust_file"];
    int (*revoke)(void* credentials, const char* file, int form) = library["gnutls_certificate_set_x509_crl_file"];
    int (*setKey)(void* credentials, const char* certificate, const char* key,
                  int form) = library["gnutls_certificate_set_x509_key_file"];
    int (*makeSession)(void** session, unsigned flags) = library["gnutls_init"];
    void (*freeSession)(void* session) = library["gnutls_deinit"];
    int (*setCredentials)(void* session, int kind, void* credentials) = library["gnutls_credentials_set"];
    int (*setPriority)(void* session) = library["gnutls_set_default_priority"];
    void (*setPointer)(void* session, void* pointer) = library["gnutls_transport_set_ptr"];
    void (*setPush)(void* session, ssize_t (*function)(void*, const void*,
                                                       std::size_t)) = library["gnutls_transport_set_push_function"];
    void (*setPull)(void* session,
                    ssize_t (*function)(void*, void*, std::size_t)) = library["gnutls_transport_set_pull_function"];
    void (*requireCertificate)(void* session, int how) = library["gnutls_certificate_server_set_request"];
    void (*hideAuthorities)(void* session, int hides) = library["gnutls_certificate_send_x509_rdn_sequence"];
    int (*handshake)(void* session) = library["gnutls_handshake"];
    int (*direction)(void* session) = library["gnutls_record_get_direction"];
    int (*verify)(void* session, const char* name, unsigned* status) = library["gnutls_certificate_verify_peers3"];
    int (*describeStatus)(unsigned status, int kind, Text* text,
                          unsigned flags) = library["gnutls_certificate_verification_status_print"];
    ssize_t (*send)(void* session, const void* bytes, std::size_t size) = library["gnutls_record_send"];
    ssize_t (*receive)(void* session, void* bytes, std::size_t size) = library["gnutls_record_recv"];
    int (*bye)(void* session, int how) = library["gnutls_bye"];
    void (**freeText)(void* text) = library["gnutls_free"];
};

class PageTls::State {
public:
    State(int socket, Side side, const TlsSettings& settings) : peerName_(settings.peerName) {
        require(library.makeCredentials(&credentials_), "prepare");
        try {
            load(settings);
            start(socket, side);
        } catch (...) {
            free();
            throw;
        }
    }
    ~State() { free(); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    template <typename Result>
    Result require(Result result, std::string_view what) const {
        if (result < 0)
            fail("TLS: {}: {}", what, library.describe(static_cast<int>(result)));
        return result;
    }

    void requireGoodPeer() const {
        unsigned status = 0;
        require(library.verify(session, peerName_ ? peerName_->c_str() : nullptr, &status), "check the other side");
        if (status == 0)
            return;
        Text text{};
        std::string why = fmt::format("{:#x}", status);
        if (library.describeStatus(status, kX509, &text, 0) == 0) {
            why.assign(text.data, text.size);
            (*library.freeText)(text.data);
        }
        fail("TLS: the other side's certificate{}{} isn't good: {}", peerName_ ? " as " : "", peerName_.value_or(""),
             why);
    }

    const Library library;
    void* session = nullptr;

private:
    void load(const TlsSettings& settings) const {
        if (!settings.authorities)
            require(library.trustSystem(credentials_), "load what the system trusts");
        const std::string authorities = settings.authorities.value_or(kAuthorities);
        const int trusted = library.trustFile(credentials_, authorities.c_str(), kPem);
        if (trusted <= 0 && settings.authorities)
            fail("TLS: --tls-cacert {}: {}", authorities, trusted < 0 ? library.describe(trusted) : "no certificate");
        const std::string revocations = settings.revocations.value_or(kRevocations);
        if (settings.revocations || ::access(revocations.c_str(), R_OK) == 0)
            require(library.revoke(credentials_, revocations.c_str(), kPem), "--tls-cacrl " + revocations);
        const std::string certificate = settings.certificate.value_or(kCertificate);
        const std::string key = settings.key.value_or(kKey);
        require(library.setKey(credentials_, certificate.c_str(), key.c_str(), kPem),
                fmt::format("--tls-cert {} with --tls-key {}", certificate, key));
    }

    void start(int socket, Side side) {
        require(library.makeSession(&session, side == Side::Server ? kServer : kClient), "make a session");
        require(library.setCredentials(session, kX509, credentials_), "use certificates");
        require(library.setPriority(session), "choose ciphers");
        library.setPointer(session, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
        library.setPush(session, push);
        library.setPull(session, pull);
        if (side == Side::Server) {
            library.requireCertificate(session, kRequired);
            library.hideAuthorities(session, 1);
        }
    }

    void free() noexcept {
        if (session != nullptr)
            library.freeSession(session);
        library.freeCredentials(credentials_);
    }

    const std::optional<std::string> peerName_;
    void* credentials_ = nullptr;
};

PageTls::PageTls(int socket, Side side, const TlsSettings& settings)
    : state_(std::make_unique<State>(socket, side, settings)) {}

PageTls::~PageTls() = default;

PageTls::Step PageTls::handshake() {
    const Library& tls = state_->library;
    for (;;) {
        const int result = tls.handshake(state_->session);
        if (result == kAgain)
            return {0, static_cast<short>(tls.direction(state_->session) == 0 ? POLLIN : POLLOUT), false};
        if (result == 0)
            break;
        if (tls.isFatal(result) != 0)
            fail("TLS: begin: {}", tls.describe(result));
    }
    state_->requireGoodPeer();
    return {};
}

PageTls::Step PageTls::send(std::span<const std::byte> bytes) {
    for (;;) {
        const ssize_t done = state_->library.send(state_->session, bytes.data(), bytes.size());
        if (done == kAgain)
            return {0, POLLOUT, false};
        if (done != kInterrupted)
            return {static_cast<std::size_t>(state_->require(done, "send")), 0, false};
    }
}

PageTls::Step PageTls::receive(std::span<std::byte> bytes) {
    for (;;) {
        const ssize_t done = state_->library.receive(state_->session, bytes.data(), bytes.size());
        if (done == kAgain)
            return {0, POLLIN, false};
        if (done == 0 || done == kPremature)
            return {0, 0, true};
        if (done > 0 || state_->library.isFatal(static_cast<int>(done)) != 0)
            return {static_cast<std::size_t>(state_->require(done, "receive")), 0, false};
    }
}

void PageTls::close() noexcept {
    (void)state_->library.bye(state_->session, kOnlyWriting);
}

}  // namespace criu::memory
