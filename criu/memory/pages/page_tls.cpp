// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/page_tls.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "criu/base/error.hpp"
#include "criu/base/gnutls.hpp"

namespace criu::memory {
namespace {

// Default paths of CRIU 4.2.
constexpr const char* kAuthorities = "/etc/pki/CA/cacert.pem";
constexpr const char* kRevocations = "/etc/pki/CA/cacrl.pem";
constexpr const char* kCertificate = "/etc/pki/criu/cert.pem";
constexpr const char* kKey = "/etc/pki/criu/private/key.pem";

ssize_t push(void* socket, const void* bytes, std::size_t size) {
    return ::send(static_cast<int>(reinterpret_cast<std::intptr_t>(socket)), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t pull(void* socket, void* bytes, std::size_t size) {
    return ::recv(static_cast<int>(reinterpret_cast<std::intptr_t>(socket)), bytes, size, MSG_DONTWAIT);
}

}  // namespace

class PageTls::Library : public crypto::GnuTls {
public:
    decltype(&::gnutls_error_is_fatal) isFatal = library["gnutls_error_is_fatal"];
    decltype(&::gnutls_certificate_allocate_credentials) makeCredentials =
        library["gnutls_certificate_allocate_credentials"];
    decltype(&::gnutls_certificate_free_credentials) freeCredentials = library["gnutls_certificate_free_credentials"];
    decltype(&::gnutls_certificate_set_x509_system_trust) trustSystem =
        library["gnutls_certificate_set_x509_system_trust"];
    decltype(&::gnutls_certificate_set_x509_trust_file) trustFile = library["gnutls_certificate_set_x509_trust_file"];
    decltype(&::gnutls_certificate_set_x509_crl_file) revoke = library["gnutls_certificate_set_x509_crl_file"];
    decltype(&::gnutls_certificate_set_x509_key_file) setKey = library["gnutls_certificate_set_x509_key_file"];
    decltype(&::gnutls_init) makeSession = library["gnutls_init"];
    decltype(&::gnutls_deinit) freeSession = library["gnutls_deinit"];
    decltype(&::gnutls_credentials_set) setCredentials = library["gnutls_credentials_set"];
    decltype(&::gnutls_set_default_priority) setPriority = library["gnutls_set_default_priority"];
    decltype(&::gnutls_transport_set_ptr) setPointer = library["gnutls_transport_set_ptr"];
    decltype(&::gnutls_transport_set_push_function) setPush = library["gnutls_transport_set_push_function"];
    decltype(&::gnutls_transport_set_pull_function) setPull = library["gnutls_transport_set_pull_function"];
    decltype(&::gnutls_certificate_server_set_request) requireCertificate =
        library["gnutls_certificate_server_set_request"];
    decltype(&::gnutls_certificate_send_x509_rdn_sequence) hideAuthorities =
        library["gnutls_certificate_send_x509_rdn_sequence"];
    decltype(&::gnutls_handshake) handshake = library["gnutls_handshake"];
    decltype(&::gnutls_record_get_direction) direction = library["gnutls_record_get_direction"];
    decltype(&::gnutls_certificate_verify_peers3) verify = library["gnutls_certificate_verify_peers3"];
    decltype(&::gnutls_record_send) send = library["gnutls_record_send"];
    decltype(&::gnutls_record_recv) receive = library["gnutls_record_recv"];
    decltype(&::gnutls_bye) bye = library["gnutls_bye"];
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
        fail("TLS: the other side's certificate{}{} isn't good: {}", peerName_ ? " as " : "", peerName_.value_or(""),
             library.describeStatus(status));
    }

    const Library library;
    gnutls_session_t session = nullptr;

private:
    void load(const TlsSettings& settings) const {
        if (!settings.authorities)
            require(library.trustSystem(credentials_), "load what the system trusts");
        const std::string authorities = settings.authorities.value_or(kAuthorities);
        const int trusted = library.trustFile(credentials_, authorities.c_str(), GNUTLS_X509_FMT_PEM);
        if (trusted <= 0 && settings.authorities)
            fail("TLS: --tls-cacert {}: {}", authorities, trusted < 0 ? library.describe(trusted) : "no certificate");
        const std::string revocations = settings.revocations.value_or(kRevocations);
        if (settings.revocations || ::access(revocations.c_str(), R_OK) == 0)
            require(library.revoke(credentials_, revocations.c_str(), GNUTLS_X509_FMT_PEM),
                    "--tls-cacrl " + revocations);
        const std::string certificate = settings.certificate.value_or(kCertificate);
        const std::string key = settings.key.value_or(kKey);
        require(library.setKey(credentials_, certificate.c_str(), key.c_str(), GNUTLS_X509_FMT_PEM),
                fmt::format("--tls-cert {} with --tls-key {}", certificate, key));
    }

    void start(int socket, Side side) {
        require(library.makeSession(&session, side == Side::Server ? GNUTLS_SERVER : GNUTLS_CLIENT), "make a session");
        require(library.setCredentials(session, GNUTLS_CRD_CERTIFICATE, credentials_), "use certificates");
        require(library.setPriority(session), "choose ciphers");
        library.setPointer(session, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
        library.setPush(session, push);
        library.setPull(session, pull);
        if (side == Side::Server) {
            library.requireCertificate(session, GNUTLS_CERT_REQUIRE);
            library.hideAuthorities(session, 1);
        }
    }

    void free() noexcept {
        if (session != nullptr)
            library.freeSession(session);
        library.freeCredentials(credentials_);
    }

    const std::optional<std::string> peerName_;
    gnutls_certificate_credentials_t credentials_ = nullptr;
};

PageTls::PageTls(int socket, Side side, const TlsSettings& settings)
    : state_(std::make_unique<State>(socket, side, settings)) {}

PageTls::~PageTls() = default;

PageTls::Step PageTls::handshake() {
    const Library& tls = state_->library;
    for (;;) {
        const int result = tls.handshake(state_->session);
        if (result == GNUTLS_E_AGAIN)
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
        if (done == GNUTLS_E_AGAIN)
            return {0, POLLOUT, false};
        if (done != GNUTLS_E_INTERRUPTED)
            return {static_cast<std::size_t>(state_->require(done, "send")), 0, false};
    }
}

PageTls::Step PageTls::receive(std::span<std::byte> bytes) {
    for (;;) {
        const ssize_t done = state_->library.receive(state_->session, bytes.data(), bytes.size());
        if (done == GNUTLS_E_AGAIN)
            return {0, POLLIN, false};
        if (done == 0 || done == GNUTLS_E_PREMATURE_TERMINATION)
            return {0, 0, true};
        if (done > 0 || state_->library.isFatal(static_cast<int>(done)) != 0)
            return {static_cast<std::size_t>(state_->require(done, "receive")), 0, false};
    }
}

void PageTls::close() noexcept {
    (void)state_->library.bye(state_->session, GNUTLS_SHUT_WR);
}

}  // namespace criu::memory
