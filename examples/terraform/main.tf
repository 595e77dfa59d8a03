terraform {
  # terraform_data is built in: no provider is needed.
  required_version = ">= 1.4"
}

variable "rotation" {
  description = "Another value is another password. Nothing else mints."
  type        = number
  default     = 1
}

resource "terraform_data" "orders_login" {
  # All that is in the state.
  triggers_replace = var.rotation

  provisioner "local-exec" {
    command = "sh ${path.module}/mint-into-secret.sh"
    environment = {
      NAMESPACE  = "tenant-acme"
      CREDENTIAL = "postgres-orders.web"
      SECRET     = "orders-login"
    }
  }
}
