import EmisoraCrypto

/// A certificate of 2 kB, as those with many names have, valid for a century; its key protects nothing but tests.
/// With it each side's flights take many datagrams.
enum LongCertificate {
    static func read() throws -> Certificate { try Certificate(pem: Array(pem.utf8)) }

    private static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgq2/bIqSFdOC7Ae2M
        MQI7oH/CoE1g9y2xi6BEhSLVWMWhRANCAATkWdeI7sKt4t3j9/Ynb7LAucM8IJMg
        1KIY/PMFzxCEHxM5ibSwvrqvUBLpYO0Uwq0UxGAhv517p7N8r4CntPhd
        -----END PRIVATE KEY-----
        -----BEGIN CERTIFICATE-----
        MIIH0DCCB3agAwIBAgIUMNIDSH2ooCeDNYywKAcQOb90s/kwCgYIKoZIzj0EAwIw
        EjEQMA4GA1UEAwwHZW1pc29yYTAgFw0yNjExMzAyMzU2MjVaGA8yMTI2MTEwNjIz
        NTYyNVowEjEQMA4GA1UEAwwHZW1pc29yYTBZMBMGByqGSM49AgEGCCqGSM49AwEH
        A0IABORZ14juwq3i3eP39idvssC5wzwgkyDUohj88wXPEIQfEzmJtLC+uq9QEulg
        7RTCrRTEYCG/nXuns3yvgKe0+F2jggamMIIGojAdBgNVHQ4EFgQUR5ktcn5MIIXY
        VrihoSPnP97kfnQwHwYDVR0jBBgwFoAUR5ktcn5MIIXYVrihoSPnP97kfnQwDwYD
        VR0TAQH/BAUwAwEB/zCCBk0GA1UdEQSCBkQwggZAghdwZWVyLTAxLmVtaXNvcmEu
        ZXhhbXBsZYIXcGVlci0wMi5lbWlzb3JhLmV4YW1wbGWCF3BlZXItMDMuZW1pc29y
        YS5leGFtcGxlghdwZWVyLTA0LmVtaXNvcmEuZXhhbXBsZYIXcGVlci0wNS5lbWlz
        b3JhLmV4YW1wbGWCF3BlZXItMDYuZW1pc29yYS5leGFtcGxlghdwZWVyLTA3LmVt
        aXNvcmEuZXhhbXBsZYIXcGVlci0wOC5lbWlzb3JhLmV4YW1wbGWCF3BlZXItMDku
        ZW1pc29yYS5leGFtcGxlghdwZWVyLTEwLmVtaXNvcmEuZXhhbXBsZYIXcGVlci0x
        MS5lbWlzb3JhLmV4YW1wbGWCF3BlZXItMTIuZW1pc29yYS5leGFtcGxlghdwZWVy
        LTEzLmVtaXNvcmEuZXhhbXBsZYIXcGVlci0xNC5lbWlzb3JhLmV4YW1wbGWCF3Bl
        ZXItMTUuZW1pc29yYS5leGFtcGxlghdwZWVyLTE2LmVtaXNvcmEuZXhhbXBsZYIX
        cGVlci0xNy5lbWlzb3JhLmV4YW1wbGWCF3BlZXItMTguZW1pc29yYS5leGFtcGxl
        ghdwZWVyLTE5LmVtaXNvcmEuZXhhbXBsZYIXcGVlci0yMC5lbWlzb3JhLmV4YW1w
        bGWCF3BlZXItMjEuZW1pc29yYS5leGFtcGxlghdwZWVyLTIyLmVtaXNvcmEuZXhh
        bXBsZYIXcGVlci0yMy5lbWlzb3JhLmV4YW1wbGWCF3BlZXItMjQuZW1pc29yYS5l
        eGFtcGxlghdwZWVyLTI1LmVtaXNvcmEuZXhhbXBsZYIXcGVlci0yNi5lbWlzb3Jh
        LmV4YW1wbGWCF3BlZXItMjcuZW1pc29yYS5leGFtcGxlghdwZWVyLTI4LmVtaXNv
        cmEuZXhhbXBsZYIXcGVlci0yOS5lbWlzb3JhLmV4YW1wbGWCF3BlZXItMzAuZW1p
        c29yYS5leGFtcGxlghdwZWVyLTMxLmVtaXNvcmEuZXhhbXBsZYIXcGVlci0zMi5l
        bWlzb3JhLmV4YW1wbGWCF3BlZXItMzMuZW1pc29yYS5leGFtcGxlghdwZWVyLTM0
        LmVtaXNvcmEuZXhhbXBsZYIXcGVlci0zNS5lbWlzb3JhLmV4YW1wbGWCF3BlZXIt
        MzYuZW1pc29yYS5leGFtcGxlghdwZWVyLTM3LmVtaXNvcmEuZXhhbXBsZYIXcGVl
        ci0zOC5lbWlzb3JhLmV4YW1wbGWCF3BlZXItMzkuZW1pc29yYS5leGFtcGxlghdw
        ZWVyLTQwLmVtaXNvcmEuZXhhbXBsZYIXcGVlci00MS5lbWlzb3JhLmV4YW1wbGWC
        F3BlZXItNDIuZW1pc29yYS5leGFtcGxlghdwZWVyLTQzLmVtaXNvcmEuZXhhbXBs
        ZYIXcGVlci00NC5lbWlzb3JhLmV4YW1wbGWCF3BlZXItNDUuZW1pc29yYS5leGFt
        cGxlghdwZWVyLTQ2LmVtaXNvcmEuZXhhbXBsZYIXcGVlci00Ny5lbWlzb3JhLmV4
        YW1wbGWCF3BlZXItNDguZW1pc29yYS5leGFtcGxlghdwZWVyLTQ5LmVtaXNvcmEu
        ZXhhbXBsZYIXcGVlci01MC5lbWlzb3JhLmV4YW1wbGWCF3BlZXItNTEuZW1pc29y
        YS5leGFtcGxlghdwZWVyLTUyLmVtaXNvcmEuZXhhbXBsZYIXcGVlci01My5lbWlz
        b3JhLmV4YW1wbGWCF3BlZXItNTQuZW1pc29yYS5leGFtcGxlghdwZWVyLTU1LmVt
        aXNvcmEuZXhhbXBsZYIXcGVlci01Ni5lbWlzb3JhLmV4YW1wbGWCF3BlZXItNTcu
        ZW1pc29yYS5leGFtcGxlghdwZWVyLTU4LmVtaXNvcmEuZXhhbXBsZYIXcGVlci01
        OS5lbWlzb3JhLmV4YW1wbGWCF3BlZXItNjAuZW1pc29yYS5leGFtcGxlghdwZWVy
        LTYxLmVtaXNvcmEuZXhhbXBsZYIXcGVlci02Mi5lbWlzb3JhLmV4YW1wbGWCF3Bl
        ZXItNjMuZW1pc29yYS5leGFtcGxlghdwZWVyLTY0LmVtaXNvcmEuZXhhbXBsZTAK
        BggqhkjOPQQDAgNIADBFAiEAjJWNE41IyDtdUx40rko+o4GaIJgii0UEMp/hZpYe
        NZwCIDTyctUtVQCcln0ym0ZYK0NzM9TMKjNlk4rDgtT7L9y5
        -----END CERTIFICATE-----
        """
}
