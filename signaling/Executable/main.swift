import EmisoraSignalingServer

SignalingServerCommand.main()
